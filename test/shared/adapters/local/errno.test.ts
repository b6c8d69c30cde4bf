import { expect, test } from "vitest";
import { explainErrno, explainLinkErrno } from "../../../../shared/adapters/local/errno.js";
import { InvariantBroken } from "../../../../shared/base/assert.js";
import { LastgoodError } from "../../../../shared/base/errors.js";

const attempt = {
  doing: "sync the staged bytes of",
  path: "/runs/run_9d4a.json",
  stillTrue: "The old file is untouched.",
};

test.each([
  ["ENOSPC", "storage-full"],
  ["EDQUOT", "storage-full"],
  ["EROFS", "read-only"],
  ["EACCES", "not-permitted"],
  ["EPERM", "not-permitted"],
  ["EBUSY", "busy"],
  ["ETXTBSY", "busy"],
  ["EXDEV", "cross-device"],
  ["ENOENT", "vanished"],
  ["ENOTDIR", "not-a-file"],
  ["EISDIR", "not-a-file"],
  ["ELOOP", "not-a-file"],
  ["EMFILE", "too-many-open-files"],
  ["ENFILE", "too-many-open-files"],
  ["ENAMETOOLONG", "name-rejected"],
  ["EINVAL", "name-rejected"],
  ["EFBIG", "limit-exceeded"],
  ["EIO", "io-failed"],
  ["ESTALE", "io-failed"],
  ["EWHATEVER", "io-failed"],
])("%s becomes %s and says what failed, where, what still holds and what to do", (errno, code) => {
  const cause = Object.assign(new Error(errno), { code: errno });
  const explained = explainErrno(cause, attempt);
  expect(explained).toMatchObject({ name: "LastgoodError", code, subject: attempt.path, cause });
  const said = (explained as LastgoodError).message;
  expect(said).toContain(`Could not ${attempt.doing} ${attempt.path}: `);
  expect(said).toContain(`(${errno}). ${attempt.stillTrue} `);
  expect(said.split(`${attempt.stillTrue} `)[1]).toMatch(/^[A-Z].{10,}\.$/);
});

test("what is no refusal of the system passes unchanged", () => {
  const own = new InvariantBroken("ours");
  const explained = new LastgoodError("busy", "already explained");
  const nodes = Object.assign(new Error("bad argument"), { code: "ERR_INVALID_ARG_VALUE" });
  for (const error of [own, explained, nodes, "text", undefined]) {
    expect(explainErrno(error, attempt)).toBe(error);
    expect(explainLinkErrno(error, attempt)).toBe(error);
  }
});

test.each([
  ["EPERM", "not-permitted"],
  ["ENOTSUP", "store-refused"],
  ["ENOSYS", "store-refused"],
  ["ENOSPC", "storage-full"],
])("a link refused with %s becomes %s", (errno, code) => {
  const cause = Object.assign(new Error(errno), { code: errno });
  const explained = explainLinkErrno(cause, attempt);
  expect(explained).toMatchObject({ code });
  if (code !== "storage-full") expect((explained as Error).message).toContain("hard link");
});
