/** The incidents that come with the product: demonstration, test and documentation in one. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export function samplesFolder(packageFolder: string): string {
  return join(packageFolder, "assets", "samples");
}

/** Name and title of each, by name. */
export async function sampleTitles(
  packageFolder: string,
): Promise<readonly (readonly [name: string, title: string])[]> {
  const folder = samplesFolder(packageFolder);
  const names = (await readdir(folder)).sort();
  return Promise.all(
    names.map(async (name) => {
      const story = await readFile(join(folder, name, "story.md"), "utf8");
      return [name, (story.split("\n")[0] ?? "").replace(/^#\s*/, "")] as const;
    }),
  );
}
