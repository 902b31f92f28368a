/** Which generations this process is reading for an export or staging: they are not swept. */
export class GenerationsInUse {
  #users = new Map<string, number>();

  has(sessionId: string, generation: number): boolean {
    return this.#users.has(keyOf(sessionId, generation));
  }

  /** Returns the function that ends the use. */
  enter(sessionId: string, generation: number): () => void {
    const key = keyOf(sessionId, generation);
    this.#users.set(key, (this.#users.get(key) ?? 0) + 1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      const users = this.#users.get(key)! - 1;
      if (users === 0) this.#users.delete(key);
      else this.#users.set(key, users);
    };
  }
}

function keyOf(sessionId: string, generation: number): string {
  return `${generation}/${sessionId}`;
}
