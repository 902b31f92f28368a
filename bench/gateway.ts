/**
 * The cost of a call through the gateway, beside the same call sent directly and through a relay that books nothing: alone, 64
 * at once, and the time to the first event of a stream. Each is booked and under two budgets. With `--against DIR`, also through
 * another checkout of Purser, in the same rounds. With `--portkey DIR`, also through Portkey's gateway, which books nothing: DIR
 * is where `npm install @portkey-ai/gateway` was run.
 */
import { parseArgs } from "node:util";
import { median, ms, report } from "./measure.ts";
import { startGateway } from "./peers/start_gateway.ts";
import { startPeer, startPortkey } from "./peers/start_peer.ts";
import { readVersions } from "./versions.ts";

const ROUNDS = 5;
const ALONE = { atOnce: 1, calls: 300 };
const BUSY = { atOnce: 64, calls: 2_000 };

/** The times of one load, in milliseconds. */
interface Times {
  p50: number;
  p99: number;
  first: number;
  perSecond: number;
  failed: number;
}

const here = (path: string) => new URL(path, import.meta.url).pathname;

interface Target {
  url: string;
  key: string;
  headers?: Record<string, string>;
  /** Portkey's gateway (1.15.2) answers the streams of this provider with a 500. */
  hasNoStreams?: true;
}

async function load(target: Target, { atOnce, calls }: typeof ALONE, kind: string): Promise<Times> {
  const { url, key, headers = {} } = target;
  const args = [url, key, `${atOnce}`, `${calls}`, kind, JSON.stringify(headers)];
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-N", "--quiet", here("./peers/load.ts"), ...args],
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

await using stack = new AsyncDisposableStack();
const provider = stack.use(await startPeer("fake_provider.ts"));
const relay = stack.use(await startPeer("relay.ts", provider.url));
const targets: Record<string, Target> = {
  "directly": { url: `${provider.url}/v1/chat/completions`, key: "none" },
  "through a relay": { url: `${relay.url}/v1/chat/completions`, key: "none" },
};
const { values: { portkey: portkeyFolder } } = parseArgs({
  options: { portkey: { type: "string" }, against: { type: "string" } },
});
const versions = readVersions();
if (portkeyFolder !== undefined) {
  const { url } = stack.use(await startPortkey(portkeyFolder));
  const headers = { "x-portkey-provider": "openai", "x-portkey-custom-host": `${provider.url}/v1` };
  targets["through Portkey's gateway"] = {
    url: `${url}/v1/chat/completions`,
    key: "none",
    headers,
    hasNoStreams: true,
  };
}
for (const durability of ["full", "normal", "memory"] as const) {
  const store = durability === "memory" ? "in memory" : durability.toUpperCase();
  for (const version of versions) {
    const { url, key } = stack.use(await startGateway({ provider: provider.url, durability, version }));
    const name = versions.length > 1 ? `${store}, ${version.label}` : store;
    targets[`through Purser, ${name}`] = { url: `${url}/openai/v1/chat/completions`, key };
  }
}

const all = new Map(
  Object.keys(targets).map((
    name,
  ) => [name, { alone: [], busy: [], streamed: [] } as Record<string, Times[]>]),
);
for (let round = -1; round < ROUNDS; round++) {
  // Every other round backwards, so that neither of two neighbours is always first.
  const inOrder = Object.entries(targets);
  for (const [name, target] of round % 2 === 0 ? inOrder : inOrder.toReversed()) {
    const times = {
      alone: await load(target, ALONE, "whole"),
      busy: await load(target, BUSY, "whole"),
      ...(!target.hasNoStreams && { streamed: await load(target, ALONE, "streamed") }),
    };
    for (const [kind, one] of Object.entries(times)) {
      if (one.failed > 0) throw new Error(`${name}: ${one.failed} calls failed`);
      if (round >= 0) all.get(name)![kind]!.push(one);
    }
  }
}
const of = (name: string, kind: string, field: keyof Times) =>
  median(all.get(name)![kind]!.map((one) => one[field]));
for (const name of Object.keys(targets)) {
  const added = of(name, "alone", "p50") - of("directly", "alone", "p50");
  report(`A call ${name}: medians of ${ROUNDS} rounds`, [
    ["alone, p50 (added over the direct call)", `${ms(of(name, "alone", "p50"))} (${ms(added)})`],
    ["alone, p99", ms(of(name, "alone", "p99"))],
    [
      `${BUSY.atOnce} at once`,
      `${of(name, "busy", "perSecond").toFixed(0)} calls/s, p99 ${ms(of(name, "busy", "p99"))}`,
    ],
    ...targets[name]!.hasNoStreams ? [] : [
      ["first event of a stream, p50", ms(of(name, "streamed", "first"))],
      ["whole stream, p50", ms(of(name, "streamed", "p50"))],
    ] as [string, string][],
  ]);
}
