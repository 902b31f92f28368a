/** A relay without a ledger, to compare with: `deno run -N bench/peers/relay.ts PROVIDER_URL`. Prints its port. */
const [provider] = Deno.args;

Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: ({ port }) => console.log(port) }, async (request) => {
  const { pathname } = new URL(request.url);
  const headers = new Headers(request.headers);
  headers.set("accept-encoding", "identity");
  const body = await request.arrayBuffer();
  return await fetch(`${provider}${pathname.replace(/^\/openai/, "")}`, { method: "POST", headers, body });
});
