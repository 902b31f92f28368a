/** A file that has no name any more: nothing is left of it, however the process ends. */
export interface TemporaryFile {
  /** Writes all of it at the end. */
  append(bytes: Uint8Array): Promise<void>;
  /** Reads from a place in the file; gives the number of bytes, 0 at its end. Readers don't disturb one another. */
  readAt(position: number, buffer: Uint8Array): number;
  close(): Promise<void>;
}

/** Whether this platform has files to put things aside in; at the edge, what looks like one is memory. */
export function hasFiles(): boolean {
  return globalThis.navigator?.userAgent !== "Cloudflare-Workers";
}

/** Makes a temporary file that nobody else can open, by default in the system's directory for them. */
export async function openTemporaryFile(directory?: string): Promise<TemporaryFile> {
  // Late: an edge runtime has none of them.
  const [{ randomUUID }, { readSync }, { open, rm }, { tmpdir }, { join }] = await Promise.all([
    import("node:crypto"),
    import("node:fs"),
    import("node:fs/promises"),
    import("node:os"),
    import("node:path"),
  ]);
  const path = join(directory ?? tmpdir(), `purser-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  // Windows does not remove an open file; there it stays in the directory for temporary files.
  await rm(path).catch(() => {});
  return {
    async append(bytes) {
      for (let written = 0; written < bytes.length;) {
        written += (await file.write(bytes.subarray(written))).bytesWritten;
      }
    },
    // In one go: where reading at a position moves the file's only place, no other reader comes in between.
    readAt: (position, buffer) => readSync(file.fd, buffer, 0, buffer.length, position),
    close: () => file.close(),
  };
}
