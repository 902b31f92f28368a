import { connect, createServer, type Server, type Socket } from "node:net";

/** The moment at which a connection with a commit is cut: before the server has it, or before its client has the answer. */
export type Cut = "before the commit" | "after the commit";

/** A proxy in front of a database server, which cuts connections and can lead to another server. */
export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  /** The port on loopback that new connections lead to. */
  target: number;
  /** Cuts the next connections that send a commit; resolves once so many were cut. */
  cut(moment: Cut, count: number): Promise<void>;
  /** Ends all connections, as a restart of a load balancer does. */
  drop(): void;
}

/**
 * The texts by which a proxy knows a commit: to libSQL it is one request, with the last statements at the end of its body; to
 * PostgreSQL it is one batch of messages, with the token of the commit at its beginning.
 */
export const COMMIT_TEXTS = { sqld: '"COMMIT"', postgres: "req_" } as const;

/** Starts a proxy that forwards to a port on loopback. */
export async function startCuttingProxy(target: number, commitText: string): Promise<CuttingProxy> {
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
      isCommit ||= chunk.includes(commitText);
      if (chunk.includes(commitText) && take("before the commit")) return end();
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
    port,
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
