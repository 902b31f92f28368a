/** A request as a receiver got it. */
export interface ReceivedRequest {
  method: string;
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

/** A server on loopback that behaves as a test wants it to. */
export interface Receiver extends AsyncDisposable {
  readonly port: number;
  /** How many connections there were. */
  readonly connections: number;
  /** Resolves when the next connection has come this far: for HTTP a whole request, else its beginning. */
  arrival(): Promise<void>;
  /** Resolves when no connection is open any more. */
  idle(): Promise<void>;
}

/** What a receiver does with one connection; it is closed afterwards. `arrived` tells the test that it began. */
export type Behaviour = (connection: Deno.TcpConn, arrived: () => void) => Promise<void> | void;

/** Starts a TCP server on a free port of 127.0.0.1. */
export function startReceiver(behave: Behaviour): Receiver {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Map<Deno.TcpConn, Promise<void>>();
  let arrival = Promise.withResolvers<void>();
  let connections = 0;
  const arrived = () => {
    arrival.resolve();
    arrival = Promise.withResolvers();
  };
  const handle = async (connection: Deno.TcpConn) => {
    try {
      await behave(connection, arrived);
    } catch {
      // the other side went away
    } finally {
      close(connection);
      open.delete(connection);
    }
  };
  const accepting = (async () => {
    for await (const connection of listener) {
      connections++;
      open.set(connection, handle(connection));
    }
  })();
  return {
    port: listener.addr.port,
    get connections() {
      return connections;
    },
    arrival: () => arrival.promise,
    async idle() {
      while (open.size > 0) await Promise.all(open.values());
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open.keys()) close(connection);
      await Promise.all([accepting, ...open.values()]);
    },
  };
}

function close(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch {
    // it is closed already
  }
}

/** What an HTTP receiver answers. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** Starts an HTTP server that answers every request as it is told, and keeps what it got. */
export function startHttpReceiver(
  answer: (request: ReceivedRequest) => Answer,
): Receiver & { requests: ReceivedRequest[] } {
  const requests: ReceivedRequest[] = [];
  const receiver = startReceiver(async (connection, arrived) => {
    const request = await readRequest(connection);
    if (!request) return;
    requests.push(request);
    arrived();
    await writeAll(connection, formatAnswer(answer(request)));
  });
  return Object.defineProperty(receiver, "requests", { value: requests }) as ReturnType<
    typeof startHttpReceiver
  >;
}

/** An answer as it goes over the wire. */
function formatAnswer({ status, headers = {}, body = "" }: Answer): string {
  const hasBody = status !== 204 && status !== 304;
  const lines = [
    `HTTP/1.1 ${status} Status`,
    ...(hasBody ? [`content-length: ${new TextEncoder().encode(body).length}`] : []),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n${hasBody ? body : ""}`;
}

/** Writes all of a text. */
export async function writeAll(connection: Deno.Conn, text: string): Promise<void> {
  let bytes = new TextEncoder().encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(await connection.write(bytes));
}

/** Reads one request; undefined when the other side closes before its end. */
export async function readRequest(connection: Deno.Conn): Promise<ReceivedRequest | undefined> {
  const decoder = new TextDecoder("latin1");
  const buffer = new Uint8Array(64 * 1024);
  const chunks: Uint8Array[] = [];
  let head = "";
  let end = -1;
  let total = 0;
  for (;;) {
    const length = await connection.read(buffer);
    if (length === null) return undefined;
    chunks.push(buffer.slice(0, length));
    total += length;
    if (end < 0) {
      head += decoder.decode(buffer.subarray(0, length), { stream: true });
      end = head.indexOf("\r\n\r\n");
      if (end < 0) continue;
    }
    const size = Number(/\r\ncontent-length: *(\d+)/i.exec(head.slice(0, end + 2))?.[1] ?? 0);
    if (total < end + 4 + size) continue;
    const [first = "", ...lines] = head.slice(0, end).split("\r\n");
    const [method = "", path = ""] = first.split(" ");
    const bytes = await new Blob(chunks as BlobPart[]).bytes();
    return {
      method,
      path,
      headers: Object.fromEntries(lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      })),
      body: new TextDecoder().decode(bytes.subarray(end + 4, end + 4 + size)),
    };
  }
}
