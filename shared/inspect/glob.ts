/** `*` stands for any letters but `/`, `**` for any letters, `?` for one letter but `/`. */
export function matchesGlob(glob: string, path: string): boolean {
  const pattern = glob.replace(/\*\*\/?|[*?.+^${}()|[\]\\]/g, (part) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    return `\\${part}`;
  });
  return new RegExp(`^${pattern}$`, "su").test(path);
}
