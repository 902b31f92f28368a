import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type Connection, connectionOf } from "./_connection.ts";

export type { Connection };

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
export type Behaviour = (connection: Connection, arrived: () => void) => Promise<void> | void;

/** Starts a TCP server on a free port of 127.0.0.1. */
export async function startReceiver(behave: Behaviour): Promise<Receiver> {
  const open = new Map<Connection, Promise<void>>();
  let arrival = Promise.withResolvers<void>();
  let connections = 0;
  const arrived = () => {
    arrival.resolve();
    arrival = Promise.withResolvers();
  };
  const handle = async (connection: Connection) => {
    try {
      await behave(connection, arrived);
    } catch {
      // the other side went away
    } finally {
      await connection.close();
      open.delete(connection);
    }
  };
  // Paused, so that what nobody reads stays unread; half open, so that what was sent before an end is answered.
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
    const connection = connectionOf(socket);
    connections++;
    open.set(connection, handle(connection));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    get connections() {
      return connections;
    },
    arrival: () => arrival.promise,
    async idle() {
      while (open.size > 0) await Promise.all(open.values());
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      await Promise.all([...open.keys()].map((connection) => connection.close()));
      await Promise.all([closed, ...open.values()]);
    },
  };
}

/** What an HTTP receiver answers. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** An HTTP receiver, with what it got. */
export interface HttpReceiver extends Receiver {
  readonly requests: ReceivedRequest[];
}

/** Starts an HTTP server that answers every request as it is told, and keeps what it got. */
export async function startHttpReceiver(
  answer: (request: ReceivedRequest) => Answer,
): Promise<HttpReceiver> {
  const requests: ReceivedRequest[] = [];
  const receiver = await startReceiver(async (connection, arrived) => {
    const request = await readRequest(connection);
    if (!request) return;
    requests.push(request);
    arrived();
    await connection.write(formatAnswer(answer(request)));
  });
  return Object.defineProperty(receiver, "requests", { value: requests }) as HttpReceiver;
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

/** Reads one request; undefined when the other side closes before its end. */
export async function readRequest(connection: Connection): Promise<ReceivedRequest | undefined> {
  const decoder = new TextDecoder("latin1");
  const chunks: Uint8Array[] = [];
  let head = "";
  let end = -1;
  let total = 0;
  for (;;) {
    const chunk = await connection.read();
    if (chunk === null) return undefined;
    chunks.push(chunk);
    total += chunk.length;
    if (end < 0) {
      head += decoder.decode(chunk, { stream: true });
      end = head.indexOf("\r\n\r\n");
      if (end < 0) continue;
    }
    const size = Number(/\r\ncontent-length: *(\d+)/i.exec(head.slice(0, end + 2))?.[1] ?? 0);
    if (total < end + 4 + size) continue;
    const [first = "", ...lines] = head.slice(0, end).split("\r\n");
    const [method = "", path = ""] = first.split(" ");
    const bytes = new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer());
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
