import { createServer, type Server, type Socket } from "node:net";

/** A server that answers the first request of a connection and closes it without an answer at the second. */
export async function openDroppingServer() {
  /** The methods of the requests, in the order of arrival. */
  const arrived: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    let text = "";
    let count = 0;
    socket.on("data", (chunk) => {
      text += chunk.toString();
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      const isChunked = /transfer-encoding: chunked/i.test(text);
      if (isChunked ? !text.endsWith("0\r\n\r\n") : text.length < end + 4 + length) return;
      arrived.push(text.slice(0, text.indexOf(" ")));
      text = "";
      if (++count > 1) return void socket.destroy();
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    arrived,
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
