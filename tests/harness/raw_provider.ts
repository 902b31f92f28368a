import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import type { FakeProvider } from "./fake_provider.ts";

const TLS_HANDSHAKE = "\x16";

/** The reply to a request that was read whole. Without `status`, it sends nothing. */
export interface RawReply {
  status?: number;
  contentType?: string;
  body?: string;
  /** The end of the connection: after the answer, in its middle, or by a reset. Default: it stays open. */
  then?: "close" | "break" | "reset";
}

/** A request as it came over the connection. */
export interface RawRequest {
  path: string;
  body: string;
  /** The number of requests on this connection before it. */
  earlier: number;
}

/** A model API that controls its connections, which the fake provider can't. `await using` closes it. */
export interface RawProvider extends AsyncDisposable, Pick<FakeProvider, "baseUrls"> {
  requests: RawRequest[];
}

export async function startRawProvider(
  replyTo: (request: RawRequest, number: number) => RawReply,
): Promise<RawProvider> {
  const requests: RawRequest[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    let bytes = "";
    let earlier = 0;
    socket.on("data", (chunk) => {
      bytes += chunk.toString("latin1");
      if (bytes.startsWith(TLS_HANDSHAKE)) return void socket.destroy();
      const end = bytes.indexOf("\r\n\r\n") + 4;
      const length = Number(/content-length: (\d+)/i.exec(bytes)?.[1] ?? 0);
      if (end < 4 || bytes.length < end + length) return;
      const request = {
        path: bytes.split(" ")[1]!,
        body: bytes.slice(end, end + length),
        earlier: earlier++,
      };
      bytes = "";
      send(socket, replyTo(request, requests.push(request)));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrls: {
      openai: `${url}/v1`,
      anthropic: `${url}/v1`,
      google: `${url}/v1beta`,
      compatible: `${url}/v1`,
    },
    requests,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function send(socket: Socket, { status, contentType = "application/json", body = "", then }: RawReply): void {
  if (status === undefined) return void (then === "reset" ? socket.resetAndDestroy() : socket.destroy());
  const head = `HTTP/1.1 ${status} Status\r\ncontent-type: ${contentType}\r\n`;
  // A connection that breaks has promised more than it sends.
  const length = new TextEncoder().encode(body).length + (then === "break" || then === "reset" ? 100 : 0);
  socket.write(`${head}content-length: ${length}\r\n\r\n${body}`, () => {
    if (then === "reset") socket.resetAndDestroy();
    else if (then) socket.end();
  });
}
