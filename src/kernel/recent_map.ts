/**
 * A map of at most `maxSize` entries, which forgets those that were not set for the longest time: by halves, since a `Map`
 * with many deleted entries is slow to find its first one.
 */
export class RecentMap<Value> {
  #recent = new Map<string, Value>();
  #older = new Map<string, Value>();

  constructor(private readonly maxSize: number) {}

  get(key: string): Value | undefined {
    return this.#recent.get(key) ?? this.#older.get(key);
  }

  set(key: string, value: Value): void {
    this.#recent.set(key, value);
    if (this.#recent.size < this.maxSize / 2) return;
    this.#older = this.#recent;
    this.#recent = new Map();
  }
}
