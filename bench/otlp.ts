/**
 * Spans sent to `POST /v1/traces` of a server on a local file, 10,000 a request: booked calls per second, the cost of a span that is
 * no call, and with 100 requests at once the memory of the server and how long other requests wait.
 */
import { encodeOtlp } from "../tests/harness/otlp_messages.ts";
import { median, ms, report } from "./measure.ts";
import { startServer } from "./start_server.ts";
import { readVersions } from "./versions.ts";

const SPANS = 10_000;
const ROUNDS = 5;
const AT_ONCE = 100;
const SPANS_AT_ONCE = 2_000;

const [version] = readVersions([]);
const hex = (bytes: number) =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0"))
    .join("");
const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const count = (key: string, value: number) => ({ key, value: { intValue: String(value) } });

/** A span as the OpenTelemetry instrumentation of OpenAI writes it. */
function callSpan(traceId: string): object {
  const output = 1 + Math.floor(Math.random() * 2_000);
  return spanOf(traceId, "chat gpt-5-mini", [
    text("gen_ai.operation.name", "chat"),
    text("gen_ai.provider.name", "openai"),
    text("gen_ai.request.model", "gpt-5-mini"),
    text("gen_ai.response.model", "gpt-5-mini-2025-08-07"),
    text("gen_ai.response.id", `chatcmpl-${hex(12)}`),
    text("gen_ai.conversation.id", traceId),
    count("gen_ai.usage.input_tokens", 1_000 + output),
    count("gen_ai.usage.output_tokens", output),
    count("gen_ai.usage.cache_read.input_tokens", 512),
    text("server.address", "api.openai.com"),
  ]);
}

/** A span as that of an HTTP client. */
const otherSpan = (traceId: string) =>
  spanOf(traceId, "GET /orders", [
    text("http.request.method", "GET"),
    text("url.full", `https://shop.example/orders/${hex(8)}`),
    text("server.address", "shop.example"),
    count("server.port", 443),
    count("http.response.status_code", 200),
    text("network.protocol.version", "1.1"),
    text("user_agent.original", "node-fetch/3.3"),
    text("http.route", "/orders/{id}"),
    text("code.function", "listOrders"),
    count("thread.id", 1),
  ]);

function spanOf(traceId: string, name: string, attributes: object[]): object {
  const startsAt = BigInt(Date.now() - 60_000) * 1_000_000n;
  return {
    traceId,
    spanId: hex(8),
    parentSpanId: hex(8),
    name,
    kind: 3,
    startTimeUnixNano: String(startsAt),
    endTimeUnixNano: String(startsAt + 1_500_000_000n),
    attributes,
    status: {},
  };
}

/** Returns a request in which every `every`th span is a call; 0: none is. */
function requestOf(every: number, count = SPANS): Uint8Array<ArrayBuffer> {
  let traceId = hex(16);
  const spans = Array.from({ length: count }, (_, index) => {
    if (index % 10 === 0) traceId = hex(16);
    return every > 0 && index % every === 0 ? callSpan(traceId) : otherSpan(traceId);
  });
  const resource = { attributes: [text("service.name", "shop"), text("telemetry.sdk.language", "nodejs")] };
  const scope = { name: "@opentelemetry/instrumentation-openai", version: "0.24.0" };
  return encodeOtlp("traces", { resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] });
}

const gzip = async (bytes: Uint8Array<ArrayBuffer>) =>
  new Uint8Array(
    await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
  );

/** Sends a request until it is taken; returns how often it was refused for now. */
async function send(url: string, body: Uint8Array<ArrayBuffer>, isGzip = false): Promise<number> {
  for (let refused = 0;; refused++) {
    const response = await fetch(`${url}/v1/traces`, {
      method: "POST",
      headers: { "content-type": "application/x-protobuf", ...(isGzip && { "content-encoding": "gzip" }) },
      body,
    });
    const answer = await response.text();
    if (response.ok) {
      if (answer.includes("rejected")) throw new Error(answer);
      return refused;
    }
    if (response.status !== 503 && response.status !== 429) throw new Error(`${response.status} ${answer}`);
    await new Promise((resolve) => setTimeout(resolve, 1_000 * Number(response.headers.get("retry-after"))));
  }
}

async function callsOf(url: string): Promise<number> {
  const costs = await (await fetch(`${url}/costs/total`)).json().catch(() => ({}));
  return costs.model_calls ?? NaN;
}

/** Reads a file of `/proc`, which Deno itself reads with all permissions only. */
async function readProc(pid: number, name: string): Promise<string> {
  const { stdout } = await new Deno.Command("cat", { args: [`/proc/${pid}/${name}`] }).output();
  return new TextDecoder().decode(stdout);
}

async function megabytesOf(pid: number, name: "VmRSS" | "VmHWM"): Promise<number> {
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(await readProc(pid, "status"))![1]) / 1024;
}

/** Returns the processor time that a process has used, in milliseconds. */
async function cpuOf(pid: number): Promise<number> {
  const fields = (await readProc(pid, "stat")).split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Sends small requests one after the other while some work is done; returns their times, sorted. */
async function waitsDuring(url: string, work: () => Promise<unknown>): Promise<number[]> {
  const waits: number[] = [];
  let isOver = false;
  const others = (async () => {
    while (!isOver) {
      const start = performance.now();
      await (await fetch(`${url}/agents`)).body?.cancel();
      waits.push(performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  await work();
  isOver = true;
  await others;
  return waits.sort((a, b) => a - b);
}

const describe = (waits: readonly number[]) =>
  [0.5, 0.99, 1].map((part) => ms(waits[Math.min(waits.length - 1, Math.floor(part * waits.length))]!))
    .join(", ");

const folder = await Deno.makeTempDir({ prefix: "purser-bench-otlp-" });
try {
  await using server = await startServer(version!, `${folder}/books.db`);
  const { url, pid } = server;
  const rows: [string, string][] = [];
  for (
    const [name, every] of [
      ["all spans are calls", 1],
      ["one of ten is a call", 10],
      ["no span is a call", 0],
    ] as const
  ) {
    const times: number[] = [];
    let cpu = 0;
    for (let round = -2; round < ROUNDS; round++) {
      const body = requestOf(every);
      const cpuBefore = await cpuOf(pid);
      const start = performance.now();
      await send(url, body);
      if (round < 0) continue;
      times.push(performance.now() - start);
      cpu += await cpuOf(pid) - cpuBefore;
    }
    const time = median(times);
    rows.push([`${name}: a request`, ms(time)]);
    rows.push([
      "  a span",
      `${(time * 1_000 / SPANS).toFixed(1)} us, CPU ${(cpu * 1_000 / SPANS / ROUNDS).toFixed(1)} us`,
    ]);
    if (every > 0) rows.push(["  calls/s", (SPANS / every / time * 1_000).toFixed(0)]);
  }
  report(`POST /v1/traces, ${SPANS} spans a request, one request at a time`, rows);

  const bodies = await Promise.all(
    Array.from({ length: AT_ONCE }, async () => await gzip(requestOf(10, SPANS_AT_ONCE))),
  );
  const booked = await callsOf(url);
  const most = await megabytesOf(pid, "VmHWM");
  const alone = await waitsDuring(url, () => new Promise((resolve) => setTimeout(resolve, 3_000)));
  let refused: number[] = [];
  const start = performance.now();
  const waits = await waitsDuring(url, async () => {
    refused = await Promise.all(bodies.map((body) => send(url, body, true)));
  });
  const seconds = (performance.now() - start) / 1_000;
  const calls = await callsOf(url) - booked;
  report(`${AT_ONCE} requests at once of ${SPANS_AT_ONCE} spans, compressed, one of ten is a call`, [
    ["time", `${seconds.toFixed(1)} s, ${(AT_ONCE * SPANS_AT_ONCE / seconds).toFixed(0)} spans/s`],
    ["calls booked", `${calls} of ${AT_ONCE * SPANS_AT_ONCE / 10}`],
    ["refused for now, and sent again", String(refused.reduce((sum, times) => sum + times, 0))],
    [
      "most memory before, one request at a time, and now",
      `${most.toFixed(0)} MB, ${(await megabytesOf(pid, "VmHWM")).toFixed(0)} MB`,
    ],
    ["other requests before: median, p99, longest", describe(alone)],
    ["other requests meanwhile", describe(waits)],
  ]);
} finally {
  await Deno.remove(folder, { recursive: true });
}
