/**
 * A map of at most `limit` entries, which evicts those that were not used for the longest time: by halves, since to move an entry
 * with every use takes longer than to look it up.
 */
export class Lru<Value> {
  #recent = new Map<string, Value>();
  #older = new Map<string, Value>();

  constructor(private readonly limit: number) {}

  /** The number of entries, of which those used since count twice; at most the limit. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  get(key: string): Value | undefined {
    const value = this.#recent.get(key);
    if (value !== undefined) return value;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: string, value: Value): void {
    this.#recent.set(key, value);
    if (this.#recent.size < Math.ceil(this.limit / 2)) return;
    this.#older = this.#recent;
    this.#recent = new Map();
  }
}
