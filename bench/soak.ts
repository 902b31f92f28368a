/**
 * Sends 200 requests a second of all kinds to a server: `deno task soak [--minutes N]`. Prints the number that failed,
 * and memory and descriptors at the start, in the middle and at the end.
 */
import { parseArgs } from "node:util";
import { startServer } from "./start_server.ts";
import { readVersions } from "./versions.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" } } });
const minutes = Number(values.minutes);
const RATE = 200;
/** The part of the time that is left out of the first figure: caches fill, and code is compiled. */
const WARM_UP = 0.1;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const folder = await Deno.makeTempDir({ prefix: "purser-soak-" });
await using server = await startServer(readVersions([])[0]!, `${folder}/books.db`);
const { url, pid } = server;

const failures = new Map<string, number>();
const times: number[] = [];
let [sent, answered] = [0, 0];

async function send(method: string, path: string, body?: unknown): Promise<void> {
  sent++;
  const startedAt = performance.now();
  try {
    const response = await fetch(url + path, {
      method,
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    });
    await response.text();
    if (!response.ok) throw new Error(`${method} ${path.split("?")[0]}: ${response.status}`);
    answered++;
    times.push(performance.now() - startedAt);
  } catch (error) {
    const reason = String((error as Error).cause ?? error);
    failures.set(reason, (failures.get(reason) ?? 0) + 1);
  }
}

/** Reads the event log for a few seconds, from where the last reader ended. */
async function follow(): Promise<void> {
  sent++;
  try {
    const response = await fetch(`${url}/events`, { signal: AbortSignal.timeout(3_000) });
    for await (const _ of response.body!);
  } catch (error) {
    if ((error as Error).name === "TimeoutError") return void answered++;
    failures.set(`events: ${error}`, (failures.get(`events: ${error}`) ?? 0) + 1);
  }
}

function report(number: number): unknown {
  const at = new Date().toISOString();
  const call = { at, provider: "openai", model: "gpt-5-mini", input_tokens: 1_200, output_tokens: 80 };
  return [{ call_id: `soak-${number}`, agent_id: `a${number % 10}`, ...call }];
}

/** Of 20 requests: 10 reports, 7 reads, 2 runs and, once in a second, a reader of the event log. */
function next(number: number): Promise<void> {
  const kind = number % 20;
  if (kind < 10) return send("POST", "/costs/events", report(number));
  if (kind < 12) {
    return send("POST", "/agents/echo/runs", { input: "Hello", session_id: `s${number % 5_000}` });
  }
  if (kind === 12 && number % RATE < 20) return follow();
  return send("GET", ["/agents", "/costs", "/healthz", "/sessions", "/alerts/rules"][kind % 5]!);
}

function show(name: string): void {
  const megabytes = Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))![1]) / 1024;
  const descriptors = [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
  console.log(`${name}: ${megabytes.toFixed(0)} MB, ${descriptors} descriptors, ${sent} requests sent`);
}

await send("PUT", "/agents/echo", { model: "demo:echo" });
const startedAt = performance.now();
const pending = new Set<Promise<void>>();
const marks = [[WARM_UP, "start"], [0.5, "middle"], [1, "end"]] as const;
let shown = 0;
for (let number = 0; shown < marks.length; number++) {
  const dueMs = startedAt + number * 1_000 / RATE - performance.now();
  if (dueMs > 0) await pause(dueMs);
  const one = next(number).finally(() => pending.delete(one));
  pending.add(one);
  if (performance.now() - startedAt >= marks[shown]![0] * minutes * 60_000) show(marks[shown++]![1]);
}
await Promise.all(pending);
times.sort((a, b) => a - b);
const at = (part: number) => times[Math.floor(times.length * part)]!.toFixed(1);
console.log(`answered: ${answered} of ${sent}; p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`);
console.log(`failed: ${sent - answered}`, Object.fromEntries(failures));
await Deno.remove(folder, { recursive: true });
if (answered < sent) Deno.exit(1);
