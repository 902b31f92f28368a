import { connect, createServer, type Server, type Socket } from "node:net";

/** The moment at which a connection with a commit is cut: before the server has it, or before its client has the answer. */
export type Cut = "before the commit" | "after the commit";

/** A proxy in front of a libSQL server, which cuts connections and can lead to another server. */
export interface CuttingProxy extends AsyncDisposable {
  readonly url: string;
  /** The port on loopback that new connections lead to. */
  target: number;
  /** Cuts the next connections that send a commit; resolves once so many were cut. */
  cut(moment: Cut, count: number): Promise<void>;
  /** Ends all connections, as a restart of a load balancer does. */
  drop(): void;
}

/** Starts a proxy that forwards to a port on loopback. */
export async function startCuttingProxy(target: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let order: { moment: Cut; count: number; done: () => void } | undefined;
  const take = (moment: Cut): boolean => {
    if (order?.moment !== moment) return false;
    if (--order.count <= 0) {
      order.done();
      order = undefined;
    }
    return true;
  };
  const server: Server = createServer((client) => {
    const upstream = connect(proxy.target, "127.0.0.1");
    let isCommit = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
      sockets.delete(client);
      sockets.delete(upstream);
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", end);
      socket.on("close", end);
    }
    client.on("data", (chunk) => {
      // A commit is one request, and its last statements are at the end of the body.
      isCommit ||= chunk.includes('"COMMIT"');
      if (chunk.includes('"COMMIT"') && take("before the commit")) return end();
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (isCommit && take("after the commit")) return end();
      isCommit = false;
      client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const proxy: CuttingProxy = {
    url: `http://127.0.0.1:${port}`,
    target,
    cut: (moment, count) => new Promise((done) => order = { moment, count, done }),
    drop() {
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      proxy.drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
