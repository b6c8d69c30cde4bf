/**
 * `*` stands for any letters but `/`, `?` for one of them, a segment `**` for any number of folders. Matched
 * without a regular expression: a glob comes from a file in the scanned folder, and must not be able to hang us.
 */
export function matchesGlob(glob: string, path: string): boolean {
  const patterns = glob.split("/");
  const names = path.split("/");
  // reached[i]: the patterns so far match the first i names.
  let reached: boolean[] = names.map(() => false);
  reached = [true, ...reached];
  for (const pattern of patterns) {
    const next = reached.map(() => false);
    for (let i = 0; i <= names.length; i++) {
      if (pattern === "**") next[i] = reached[i] === true || (i > 0 && next[i - 1] === true);
      else if (i > 0) next[i] = reached[i - 1] === true && matchesName(pattern, names[i - 1] ?? "");
    }
    reached = next;
  }
  return reached[names.length] === true;
}

/** One name against one pattern; on a mismatch only the last `*` takes one letter more. */
function matchesName(pattern: string, name: string): boolean {
  const [wanted, letters] = [Array.from(pattern), Array.from(name)];
  let [p, n, star, resume] = [0, 0, -1, 0];
  while (n < letters.length) {
    if (wanted[p] === "*") {
      star = p++;
      resume = n;
    } else if (wanted[p] === "?" || (p < wanted.length && wanted[p] === letters[n])) {
      p += 1;
      n += 1;
    } else if (star >= 0) {
      p = star + 1;
      n = ++resume;
    } else return false;
  }
  while (wanted[p] === "*") p += 1;
  return p === wanted.length;
}
