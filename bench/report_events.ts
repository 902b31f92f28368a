/** Booked events per second through `POST /costs/events`, 1,000 a request, over a socket on loopback. */
import { createApp } from "../src/http/api.ts";
import { serve } from "../src/http/mod.ts";
import { openCore } from "../src/core.ts";
import { toIso } from "../src/clock.ts";
import { median, report } from "./measure.ts";

const BATCH = 1_000;
const REQUESTS = 60;

for (const durability of ["full", "normal"] as const) {
  const directory = await Deno.makeTempDir();
  const core = await openCore({
    config: {
      dbUrl: `${directory}/bench.db`,
      durability,
      environment: "bench",
      remoteTimeoutMs: 10_000,
      maxBodyBytes: 16 * 1024 * 1024,
    },
  });
  const server = await serve(core, createApp(core), { host: "127.0.0.1", port: 0 });
  const post = async (body: string) => {
    const response = await fetch(`${server.url}/costs/events`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    if (response.status !== 201) throw new Error(await response.text());
    await response.body?.cancel();
  };
  const figures: [string, string][] = [];
  for (
    const [name, extra] of [["without a session", () => ({})], ["in sessions and runs", inSessions]] as const
  ) {
    const bodies = Array.from(
      { length: REQUESTS },
      (_, request) => JSON.stringify(events(`${name}-${request}`, extra)),
    );
    for (const body of bodies.slice(0, 10)) await post(body);
    const times: number[] = [];
    for (const body of bodies.slice(10)) {
      const start = performance.now();
      await post(body);
      times.push(performance.now() - start);
    }
    figures.push([`${name}, one request at a time`, `${Math.round(BATCH / median(times) * 1000)} events/s`]);
  }
  report(
    `POST /costs/events, ${BATCH} events a request, local file, synchronous=${durability.toUpperCase()}, median`,
    figures,
  );
  await server.shutdown();
  await core.close();
  await Deno.remove(directory, { recursive: true });
}

function events(prefix: string, extra: (n: number) => object): unknown[] {
  const start = Date.now() - 3_600_000;
  return Array.from({ length: BATCH }, (_, n) => ({
    call_id: `${prefix}-${n}`,
    at: toIso(start + n * 1000),
    agent_id: `agent-${n % 20}`,
    provider: "openai",
    model: n % 2 ? "gpt-4o-mini" : "gpt-4o",
    input_tokens: 1_000 + n,
    output_tokens: 100,
    cache_read_tokens: 500,
    ...extra(n),
  }));
}

function inSessions(n: number): object {
  return { session_id: `session-${n % 50}`, run_id: `run-${n % 100}`, step: Math.floor(n / 100) };
}
