/**
 * Sends 200 requests a second of all kinds to a server: `deno task soak [--minutes N]`. Prints the number that failed,
 * and memory, descriptors and open event streams at the start, in the middle and at the end. Ends with an error if a request
 * failed or, in ten minutes or more, if memory or descriptors have grown over their bounds.
 */
import { parseArgs } from "node:util";
import { checkBound } from "./check_bound.ts";
import { startServer } from "./start_server.ts";
import { readVersions } from "./versions.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" } } });
const minutes = Number(values.minutes);
const RATE = 200;
/** The time that a reader of the event log stays. */
const READ_MS = 3_000;
/** The part of the time that is left out of the first figure: caches fill, and code is compiled. */
const WARM_UP = 0.1;
/** The shortest run in which caches have filled by its middle, so that what grows afterwards is a leak. */
const WHOLE_MINUTES = 10;
/** The memory at the end, as a factor of that in the middle. */
const BOUND_MEMORY = 1.25;
/** The descriptors at the end that were not there at the start: connections and event streams, whose number varies. */
const BOUND_DESCRIPTORS = 50;

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
    fail(error);
  }
}

function fail(error: unknown): void {
  const reason = String((error as Error).cause ?? error);
  failures.set(reason, (failures.get(reason) ?? 0) + 1);
}

/** The open readers of the event log: what they hold is not collected as garbage, and their number is shown. */
const readers = new Set<ReadableStreamDefaultReader<Uint8Array>>();
let mostReaders = 0;

/** Reads the events of the next seconds. */
async function follow(): Promise<void> {
  sent++;
  try {
    const response = await fetch(`${url}/events`);
    if (!response.ok) throw new Error(`GET /events: ${response.status}`);
    const reader = response.body!.getReader();
    readers.add(reader);
    mostReaders = Math.max(mostReaders, readers.size);
    let isOver = false;
    // Not by an abort signal: Deno collects that of a request whose body alone is still used.
    const end = setTimeout(() => (isOver = true, reader.cancel()), READ_MS);
    let bytes = 0;
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) bytes += part.value.length;
    } finally {
      clearTimeout(end);
      readers.delete(reader);
    }
    if (!isOver) throw new Error("GET /events: the stream ended by itself");
    if (bytes === 0) throw new Error("GET /events: the stream had no event");
    answered++;
  } catch (error) {
    fail(error);
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

/** Prints what the server holds, and returns it. */
function show(name: string): { megabytes: number; descriptors: number } {
  const megabytes = Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))![1]) / 1024;
  const descriptors = [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
  console.log(
    `${name}: ${megabytes.toFixed(0)} MB, ${descriptors} descriptors, ${readers.size} event streams, ` +
      `${sent} requests sent`,
  );
  return { megabytes, descriptors };
}

await send("PUT", "/agents/echo", { model: "demo:echo" });
const startedAt = performance.now();
const pending = new Set<Promise<void>>();
const marks = [[WARM_UP, "start"], [0.5, "middle"], [1, "end"]] as const;
const held: ReturnType<typeof show>[] = [];
for (let number = 0; held.length < marks.length; number++) {
  const dueMs = startedAt + number * 1_000 / RATE - performance.now();
  if (dueMs > 0) await pause(dueMs);
  const one = next(number).finally(() => pending.delete(one));
  pending.add(one);
  const [part, name] = marks[held.length]!;
  if (performance.now() - startedAt >= part * minutes * 60_000) held.push(show(name));
}
await Promise.all(pending);
times.sort((a, b) => a - b);
const at = (part: number) => times[Math.floor(times.length * part)]!.toFixed(1);
console.log(`answered: ${answered} of ${sent}; p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`);
console.log(`event streams: ${mostReaders} open at most, ${readers.size} now`);
console.log(`failed: ${sent - answered}`, Object.fromEntries(failures));
await Deno.remove(folder, { recursive: true });
checkBound("the number of failed requests", sent - answered, 0);
if (minutes >= WHOLE_MINUTES) {
  const [start, middle, end] = held;
  checkBound("memory at the end, in MB,", end!.megabytes, middle!.megabytes * BOUND_MEMORY);
  checkBound(
    "the number of descriptors at the end",
    end!.descriptors,
    start!.descriptors + BOUND_DESCRIPTORS,
  );
}
