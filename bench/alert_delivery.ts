/**
 * Alerts from the booking of a call to a webhook on this machine, and the delay of the log line beside broken
 * channels.
 */
import { createAlertEvaluator, createDispatcher, type NamedChannel, openPurser } from "../src/mod.ts";
import type { Log } from "../src/kernel/log.ts";
import { median, ms, report } from "./measure.ts";

const ALERTS = 1_000;

/** Opens Purser with a rule that fires for every call. */
async function open(channels: Parameters<typeof createDispatcher>[0], db: string, log?: Log) {
  const rule = {
    name: "Every call",
    threshold_type: "per_day_usd",
    threshold_usd: 0.000_000_001,
    severity: "warning",
    cooldown_seconds: 0,
  } as const;
  const purser = await openPurser({
    db,
    env: {},
    log,
    allowPrivateNetworks: ["127.0.0.0/8"],
    alerts: createAlertEvaluator({ rules: [rule], dispatcher: createDispatcher(channels) }),
  });
  let calls = 0;
  const book = async () => {
    const call = {
      call_id: `call_${++calls}`,
      at: new Date().toISOString(),
      agent_id: "bench",
      provider: "p",
      model: "m",
      input_tokens: 1,
      output_tokens: 1,
      cost_usd: 0.01,
    };
    const answer = await purser.app.request("/costs/events", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify([call]),
    });
    if (answer.status !== 201) throw new Error(await answer.text());
  };
  return { purser, book };
}

const directory = await Deno.makeTempDir();

const received = new Set<string>();
const all = Promise.withResolvers<void>();
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
  await request.text();
  received.add(request.headers.get("webhook-id")!);
  if (received.size === ALERTS) all.resolve();
  return new Response("ok");
});
const { purser, book } = await open(
  [{
    kind: "webhook",
    url: `http://127.0.0.1:${server.addr.port}/`,
    secret: `whsec_${btoa("x".repeat(24))}`,
  }],
  `${directory}/webhook.db`,
);
await book();
const start = performance.now();
for (let alert = 1; alert < ALERTS; alert++) await book();
const booked = performance.now() - start;
await all.promise;
const delivered = performance.now() - start;
await purser.close();
await server.shutdown();
const each = (time: number) => `${Math.round((ALERTS - 1) / time * 1000)} per second`;
report(
  `${ALERTS} alerts, local file, synchronous=FULL, each booked, written to the outbox and delivered by itself`,
  [
    ["calls booked, one after the other, each of which fires", each(booked)],
    ["alerts at a signed webhook on this machine", each(delivered)],
  ],
);

const broken: Record<string, NamedChannel["send"]> = {
  "a dead channel": () => ({ ok: false, retry: true, reason: "HTTP 503" }),
  "a hanging channel": () => new Promise(() => {}),
  "a channel that throws": () => {
    throw new Error("broken");
  },
};
const figures: [string, string][] = [];
for (const [name, send] of Object.entries(broken)) {
  let resolveLine: (() => void) | undefined;
  const log: Log = {
    debug() {},
    info() {},
    warn: (_, fields) => void (fields?.channel === "log" && resolveLine?.()),
    error() {},
  };
  const { purser, book } = await open(
    [{ name: "ops", send, timeoutMs: 2_000 }],
    `${directory}/${name}.db`,
    log,
  );
  const times: number[] = [];
  for (let alert = 0; alert < 100; alert++) {
    const line = new Promise<void>((resolve) => resolveLine = resolve);
    const start = performance.now();
    await book();
    await line;
    times.push(performance.now() - start);
  }
  figures.push([`beside ${name}`, `${ms(median(times))}, the slowest of 100 ${ms(Math.max(...times))}`]);
  await purser.close();
}
report("From the call to the log line, medians", figures);
await Deno.remove(directory, { recursive: true });
