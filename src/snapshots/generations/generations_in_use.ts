/**
 * Which generations this process is reading for an export, and which imports it is staging: they are not swept.
 * An import is known by its id, for that is there before its generation has a number.
 */
export class GenerationsInUse {
  #users = new Map<string, number>();

  has(use: string): boolean {
    return this.#users.has(use);
  }

  /** Returns the function that ends the use. */
  enter(use: string): () => void {
    this.#users.set(use, (this.#users.get(use) ?? 0) + 1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      const users = this.#users.get(use)! - 1;
      if (users === 0) this.#users.delete(use);
      else this.#users.set(use, users);
    };
  }
}

/** The use of a generation by an export. */
export function readingOf(sessionId: string, generation: number): string {
  return `${generation}/${sessionId}`;
}
