import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type Connection, connectionOf } from "./_connection.ts";

export type { Connection };

/** A received request. */
export interface ReceivedRequest {
  method: string;
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

/** A scripted server on loopback. */
export interface Receiver extends AsyncDisposable {
  readonly port: number;
  /** The number of connections so far. */
  readonly connections: number;
  /** Resolves when the next connection has called `arrived`: for HTTP after a whole request. */
  arrival(): Promise<void>;
  /** Resolves when all connections are closed. */
  idle(): Promise<void>;
}

/** Handles one connection, which is closed afterwards. `arrived` resolves `arrival()` in the test. */
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
      // the client disconnected
    } finally {
      await connection.close();
      open.delete(connection);
    }
  };
  // Paused, so that bytes without a reader stay unread; half open, so that a request is answered after its end.
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

/** The response of an HTTP receiver. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** An HTTP receiver, with its requests. */
export interface HttpReceiver extends Receiver {
  readonly requests: ReceivedRequest[];
}

/** Starts an HTTP server that responds by `answer`, and records its requests. */
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

/** Formats a response for the wire. */
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
