import type { StartServer } from "./listen.ts";

/** A server of Deno's own. */
export const startDenoServer: StartServer = async (handle, { host, port }) => {
  const started = Promise.withResolvers<void>();
  const server = Deno.serve(
    { hostname: host, port, onListen: () => started.resolve() },
    (request, { remoteAddr }) => handle(request, remoteAddr.hostname),
  );
  await started.promise;
  return {
    port: server.addr.port,
    drain: () => server.shutdown(),
    leave: () => server.unref(),
  };
};
