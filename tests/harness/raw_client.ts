import assert from "node:assert/strict";

/** The characters of the longest match that is waited for. */
const MATCH = 4_096;

/** A connection of a client that writes what it likes. */
export class RawClient implements Disposable {
  readonly #connection: Deno.TcpConn;
  #text = "";

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  static async connect({ url }: { url: string }): Promise<RawClient> {
    return new RawClient(await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) }));
  }

  /** Writes text, with the line ends of HTTP. */
  async write(text: string): Promise<void> {
    const bytes = new TextEncoder().encode(text.replaceAll("\n", "\r\n"));
    for (let start = 0; start < bytes.length;) start += await this.#connection.write(bytes.subarray(start));
  }

  /** Reads until the text has a short match; fails where the connection ends before. */
  async until(pattern: RegExp): Promise<string> {
    // Megabytes are not searched again for each piece that comes.
    for (let fresh = this.#text; !pattern.test(fresh);) {
      const piece = await this.#read();
      assert.ok(piece !== null, `the connection ended: ${this.#text}`);
      fresh = fresh.slice(-MATCH) + piece;
    }
    return this.#text;
  }

  /** Reads the head of a response at the most, and of what follows what has come with it. */
  isAnswered(): Promise<string> {
    return this.until(/\r\n\r\n/);
  }

  /** Reads some bytes more; returns all that was read. */
  async readSome(bytes: number): Promise<string> {
    const length = this.#text.length + bytes;
    while (this.#text.length < length) assert.ok(await this.#read() !== null, "the connection ended");
    return this.#text;
  }

  /** Reads until the server closes the connection. */
  async end(): Promise<string> {
    while (await this.#read() !== null);
    return this.#text;
  }

  async #read(): Promise<string | null> {
    const buffer = new Uint8Array(65_536);
    const size = await this.#connection.read(buffer).catch(() => null); // a reset
    if (size === null) return null;
    const piece = new TextDecoder().decode(buffer.subarray(0, size));
    this.#text += piece;
    return piece;
  }

  closeWrite(): Promise<void> {
    return this.#connection.closeWrite();
  }

  [Symbol.dispose]() {
    this.#connection.close();
  }
}

/** Returns the status and the problem of a response. */
export function problemOf(text: string): { status: number; code: string; detail: string; head: string } {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  assert.match(head, /content-type: application\/problem\+json/i, text);
  return { ...JSON.parse(body), status: Number(head.split(" ")[1]), head };
}
