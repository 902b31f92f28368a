import type { Socket } from "node:net";

/** One connection that a receiver has taken. */
export interface Connection {
  /** The next bytes; null when the other side has sent its last. Until the first call nothing is read. */
  read(): Promise<Uint8Array | null>;
  /** Sends all of it. */
  write(content: string | Uint8Array): Promise<void>;
  /** Closes it, at once where something is still to be sent or read; resolves when it is closed. */
  close(): Promise<void>;
}

/** A connection over a socket of Node that was paused when it was taken. */
export function connectionOf(socket: Socket): Connection {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => {}); // whoever reads or writes hears of it
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
