import { getRequestListener, RequestError } from "@hono/node-server";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { StartServer } from "./listen.ts";

/** Longer than clients keep an idle connection (Deno's: 90 s), so that none is closed under a request. */
const KEEP_ALIVE_MS = 120_000;

/** Starts a server of Node's `http`. */
export const startNodeServer: StartServer = async (handle, { host, port }) => {
  let isDraining = false;
  const answer = getRequestListener(
    (request, { incoming }) => handle(request, incoming.socket.remoteAddress),
    {
      overrideGlobalObjects: false, // they belong to the embedding program
      errorHandler: (error) => new Response(null, { status: error instanceof RequestError ? 400 : 500 }),
    },
  );
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, outgoing) => {
    outgoing.once("close", () => {
      // Node itself closes only the connections that are idle when the server is closed.
      if (isDraining) setImmediate(() => server.closeIdleConnections());
    });
    void answer(incoming, outgoing);
  });
  server.listen(port, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    drain: () =>
      new Promise((resolve) => {
        isDraining = true;
        server.close(() => resolve());
      }),
    leave: () => server.closeAllConnections(),
  };
};
