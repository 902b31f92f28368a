/** Headers to read: `Headers`, or what is like them and takes less time to make. Names are in lower case. */
export type HeaderFields = Pick<Headers, "get" | typeof Symbol.iterator>;

/** The headers of one connection (RFC 9110, 7.6.1), and those that each sender sets anew. Names are in lower case. */
export const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
  "content-length",
  "expect",
]);

/**
 * The headers of a response within this process, for which `Headers` takes longer to make and to read than the rest of the
 * response. Names are given in lower case; what is sent is checked by the server.
 */
export class PlainHeaders implements Pick<Headers, "get" | "has" | "set"> {
  readonly #fields: Map<string, string>;

  constructor(fields: Readonly<Record<string, string>>) {
    this.#fields = new Map(Object.entries(fields));
  }

  get(name: string): string | null {
    return this.#fields.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#fields.has(name.toLowerCase());
  }

  set(name: string, value: string): void {
    this.#fields.set(name.toLowerCase(), value);
  }

  [Symbol.iterator](): MapIterator<[string, string]> {
    return this.#fields.entries();
  }
}

/** Returns the headers of names and values as they were sent, joined by their names as `Headers` joins them. */
export function joinHeaders(sent: readonly string[]): HeaderFields {
  const fields = new Map<string, string>();
  for (let at = 0; at < sent.length; at += 2) {
    const name = sent[at]!.toLowerCase();
    const first = fields.get(name);
    fields.set(name, first ? `${first}, ${sent[at + 1]}` : sent[at + 1]!);
  }
  return { get: (name) => fields.get(name) ?? null, [Symbol.iterator]: () => fields.entries() };
}
