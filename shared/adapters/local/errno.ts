import { type ErrorCode, LastgoodError } from "../../base/errors.js";
import { errnoOf } from "./open-flags.js";

/** What was being done when the system refused, in words that complete "Could not …". */
export interface Attempt {
  /** For example "sync the staged copy of". */
  readonly doing: string;
  readonly path: string;
  /** What still holds: "The old file is untouched." */
  readonly stillTrue: string;
}

interface Explanation {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly whatToDo: string;
}

/**
 * The system's refusal as a coded error for people. Anything that is no refusal of the system (our own mistake,
 * an error already explained) passes unchanged.
 */
export function explainErrno(error: unknown, attempt: Attempt): unknown {
  const errno = errnoOf(error);
  if (error instanceof LastgoodError || errno === undefined || !/^E[A-Z0-9]+$/.test(errno)) {
    return error;
  }
  const found = explanations[errno] ?? unknownRefusal;
  return new LastgoodError(
    found.code,
    `Could not ${attempt.doing} ${attempt.path}: ${found.reason} (${errno}). ${attempt.stillTrue} ${found.whatToDo}`,
    { subject: attempt.path, cause: error },
  );
}

/** For link alone: the systems that have no hard links say so in several ways. */
export function explainLinkErrno(error: unknown, attempt: Attempt): unknown {
  const errno = errnoOf(error);
  const noLinks = ["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EMLINK"];
  if (errno === undefined || !noLinks.includes(errno)) return explainErrno(error, attempt);
  return new LastgoodError(
    errno === "EPERM" ? "not-permitted" : "store-refused",
    `Could not ${attempt.doing} ${attempt.path}: this file system makes no hard link there (${errno}). ` +
      `${attempt.stillTrue} A local store needs hard links, since they alone create a whole file only if ` +
      "none is there: keep the workspace on a file system that has them (not FAT or exFAT).",
    { subject: attempt.path, cause: error },
  );
}

const freeSpace = "Free some space, then try again.";
const checkDevice = "Check the device and its log before writing to it again.";
const full: Omit<Explanation, "reason"> = { code: "storage-full", whatToDo: freeSpace };
const permitted: Explanation = {
  code: "not-permitted",
  reason: "the system does not allow it",
  whatToDo: "Check the owner and the permissions of the file and of its folder.",
};
const busy: Explanation = {
  code: "busy",
  reason: "something else holds it, for example a mount of that one file or a virus scanner",
  whatToDo:
    "Mount the folder instead of the file, or end the program that holds it, then try again.",
};
const tooManyOpen: Omit<Explanation, "reason"> = {
  code: "too-many-open-files",
  whatToDo: "Close some, or raise the limit (ulimit -n), then try again.",
};
const rejectedName: Omit<Explanation, "reason"> = {
  code: "name-rejected",
  whatToDo: "Choose another name.",
};
const deviceFailed: Omit<Explanation, "reason"> = { code: "io-failed", whatToDo: checkDevice };

const unknownRefusal: Explanation = { ...deviceFailed, reason: "the system refused" };

const explanations: Readonly<Record<string, Explanation>> = {
  ENOSPC: { ...full, reason: "no space is left on the device" },
  EDQUOT: { ...full, reason: "the disk quota is used up" },
  EFBIG: {
    code: "limit-exceeded",
    reason: "the file would be larger than the system allows",
    whatToDo: "Raise the limit (ulimit -f), or start a new file.",
  },
  EROFS: {
    code: "read-only",
    reason: "the file system is mounted read-only",
    whatToDo: "Mount it for writing, or keep what is written elsewhere.",
  },
  EACCES: permitted,
  EPERM: permitted,
  EBUSY: busy,
  ETXTBSY: busy,
  EXDEV: {
    code: "cross-device",
    reason: "both names do not lie on one file system, so nothing can be moved in one step",
    whatToDo: "Mount the whole folder, not a file or folder inside it.",
  },
  ENOENT: {
    code: "vanished",
    reason: "a file or folder that was there a moment ago is gone",
    whatToDo: "Find out what removes files there, then try again.",
  },
  ENOTDIR: {
    code: "not-a-file",
    reason: "a part of the path is a file, not a folder",
    whatToDo: "Move that file out of the way, or choose another name.",
  },
  EISDIR: {
    code: "not-a-file",
    reason: "a folder stands under that name",
    whatToDo: "Move that folder out of the way, or choose another name.",
  },
  ELOOP: {
    code: "not-a-file",
    reason: "it is a symbolic link, and links are not followed out of the workspace",
    whatToDo: "Put the file itself there, or open the folder that the link leads to.",
  },
  EEXIST: {
    code: "busy",
    reason: "somebody else made a file of that name at the same moment",
    whatToDo: "Try again.",
  },
  EMFILE: { ...tooManyOpen, reason: "this process has too many files open" },
  ENFILE: { ...tooManyOpen, reason: "the system has too many files open" },
  ENAMETOOLONG: { ...rejectedName, reason: "the name is too long for this file system" },
  EINVAL: { ...rejectedName, reason: "this file system does not take such a name" },
  EILSEQ: { ...rejectedName, reason: "this file system does not take such letters" },
  EIO: { ...deviceFailed, reason: "the device reported an error" },
  ENXIO: { ...deviceFailed, reason: "the device is gone" },
  ESTALE: { ...deviceFailed, reason: "the network file system lost the file" },
};
