import type { Socket } from "node:net";

/** A connection that a receiver has accepted. */
export interface Connection {
  /** Reads the next bytes; null at the end. Nothing is read before the first call. */
  read(): Promise<Uint8Array | null>;
  /** Writes all of it. */
  write(content: string | Uint8Array): Promise<void>;
  /** Closes it without sending or reading the rest; resolves when it is closed. */
  close(): Promise<void>;
}

/** Wraps a socket of Node that was paused when it was accepted. */
export function connectionOf(socket: Socket): Connection {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => {}); // read() and write() reject
  return {
    async read() {
      const { done, value } = await (chunks ??= socket[Symbol.asyncIterator]()).next();
      return done ? null : value;
    },
    write: (content) =>
      new Promise((resolve, reject) => {
        socket.write(content, (error) => error ? reject(error) : resolve());
      }),
    async close() {
      socket.destroy();
      await closed;
    },
  };
}
