import assert from "node:assert/strict";

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

  /** Reads until the text matches; fails where the connection ends before. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#text)) assert.ok(await this.#read(), `the connection ended: ${this.#text}`);
    return this.#text;
  }

  /** Reads the head of a response at the most, and of what follows what has come with it. */
  isAnswered(): Promise<string> {
    return this.until(/\r\n\r\n/);
  }

  /** Reads some bytes more; returns all that was read. */
  async readSome(bytes: number): Promise<string> {
    const length = this.#text.length + bytes;
    while (this.#text.length < length) assert.ok(await this.#read(), "the connection ended");
    return this.#text;
  }

  /** Reads until the server closes the connection. */
  async end(): Promise<string> {
    while (await this.#read());
    return this.#text;
  }

  async #read(): Promise<boolean> {
    const buffer = new Uint8Array(65_536);
    const size = await this.#connection.read(buffer).catch(() => null); // a reset
    if (size !== null) this.#text += new TextDecoder().decode(buffer.subarray(0, size));
    return size !== null;
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
