/** Lets the users of one name go one after the other, in the order in which they asked. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  async take<T>(name: string, use: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const result = before.then(use);
    // The next one waits for the end of this one, however it ends.
    const end = result.then(nothing, nothing);
    this.#last.set(name, end);
    try {
      return await result;
    } finally {
      // The last one out takes the name away, or names would pile up for as long as the process runs.
      if (this.#last.get(name) === end) this.#last.delete(name);
    }
  }
}

function nothing(): void {}
