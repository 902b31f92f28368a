import type { PostgresConnection } from "./postgres_connection.ts";

interface Waiting {
  resolve(): void;
  timer: ReturnType<typeof setTimeout>;
}

/** A bounded number of connections, which are opened when they are needed and then kept. */
export class ConnectionPool {
  /** The last one used is used again, as it has prepared what is run most often. */
  #idle: PostgresConnection[] = [];
  #used = 0;
  #waiting: Waiting[] = [];
  #isClosed = false;

  constructor(
    private readonly open: (timeoutMs: number) => Promise<PostgresConnection>,
    private readonly most: number,
  ) {}

  /**
   * Runs a task with a connection, which the pool keeps unless it fails on it.
   *
   * @throws {DOMException} `TimeoutError` when no connection is free in time
   */
  async use<T>(remainingMs: () => number, task: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    while (this.#used >= this.most) await this.#wait(remainingMs());
    this.#used++;
    try {
      let connection = this.#idle.pop();
      while (connection && !connection.isUsable) connection = this.#idle.pop();
      connection ??= await this.open(remainingMs());
      try {
        return await task(connection);
      } finally {
        if (connection.isUsable && !this.#isClosed) this.#idle.push(connection);
        else await connection.close();
      }
    } finally {
      this.#used--;
      this.#next();
    }
  }

  #wait(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((waiting) => waiting.timer !== timer);
        reject(new DOMException("all connections are in use", "TimeoutError"));
      }, Math.max(0, timeoutMs));
      this.#waiting.push({ resolve, timer });
    });
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (!next) return;
    clearTimeout(next.timer);
    next.resolve();
  }

  /** Ends the idle connections, and those in use once they are free. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()));
  }
}
