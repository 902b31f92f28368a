/**
 * Holds many streams open through the gateway: `deno task gateway_streams`, by default 1,000 of 60 s with an event a
 * second. Prints the delays of the events, beside those of the same streams without the gateway, and the server's memory.
 */
import { parseArgs } from "node:util";
import { ms, report } from "./measure.ts";
import { startPeer } from "./peers/start_peer.ts";
import { startGateway } from "./peers/start_gateway.ts";

const { values } = parseArgs({
  options: { streams: { type: "string", default: "1000" }, seconds: { type: "string", default: "60" } },
});

const memoryOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))![1]) / 1024;

async function hold(url: string, key: string) {
  const path = new URL("./peers/hold_streams.ts", import.meta.url).pathname;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-N", "--quiet", path, url, key, values.streams, values.seconds, "1000"],
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

await using provider = await startPeer("fake_provider.ts");
await using gateway = await startGateway({ provider: provider.url, durability: "full" });
const direct = await hold(`${provider.url}/v1/chat/completions`, "none");
const memory: number[] = [];
const timer = setInterval(() => memory.push(memoryOf(gateway.pid)), 1_000);
const through = await hold(`${gateway.url}/openai/v1/chat/completions`, gateway.key);
clearInterval(timer);
const after = (part: number) => `${memory[Math.floor(memory.length * part)]!.toFixed(0)} MB`;
report(`${values.streams} streams of ${values.seconds} s, an event a second`, [
  ["delay of an event, directly: p50, p99, longest", [direct.p50, direct.p99, direct.max].map(ms).join(", ")],
  [
    "delay through the gateway: p50, p99, longest",
    [through.p50, through.p99, through.max].map(ms).join(", "),
  ],
  ["events, streams that failed", `${through.events}, ${through.failed}`],
  ["memory of the gateway at a quarter, half, three quarters", [0.25, 0.5, 0.75].map(after).join(", ")],
]);
