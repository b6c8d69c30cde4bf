/**
 * Seeds of tests that draw: fixed in an ordinary run, so that it says the same each time; another one by
 * LASTGOOD_TEST_SEED. Printed, so that a failure can be had again.
 */
export function seedOf(name: string): number {
  const given = process.env.LASTGOOD_TEST_SEED;
  if (given !== undefined && given !== "") return Number(given);
  let sum = 7;
  for (const letter of name) sum = (Math.imul(sum, 31) + (letter.codePointAt(0) ?? 0)) | 0;
  return sum >>> 1;
}

export function reportSeed(name: string, seed: number): void {
  process.stdout.write(`${name}: seed ${seed}\n`);
}
