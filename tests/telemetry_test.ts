import assert from "node:assert/strict";
import { systemClock } from "../src/kernel/clock.ts";
import { createIds } from "../src/kernel/ids.ts";
import { writeKeyText } from "../src/keys/key_text.ts";
import { answerTo } from "./harness/answers.ts";
import { newPlace, type Place, purser, start } from "./harness/cli_process.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { type OtlpReceiver, startOtlpReceiver } from "./harness/otlp_receiver.ts";
import { startWebhookReceiver } from "./harness/webhook_receiver.ts";

/** Words passed to a model, a tool or a receiver that must not be exported. */
const SECRETS = ["private-prompt", "private-system", "private-key", "private-path", "21 * 2"];

function assertSaysNothing({ text }: OtlpReceiver): void {
  for (const secret of SECRETS) assert.ok(!text().includes(secret), `"${secret}" was exported`);
}

/** A sandbox in which everything exports to the receiver. */
async function newTracedPlace(receiver: OtlpReceiver, config: object = {}): Promise<Place> {
  const place = await newPlace();
  Object.assign(place.env, receiver.env);
  await Deno.mkdir(`${place.folder}/purser`);
  await Deno.writeTextFile(`${place.folder}/purser/purser.json`, JSON.stringify(config));
  return place;
}

async function run(place: Place, args: string[], code = 0) {
  const result = await purser(place, args);
  assert.equal(result.code, code, result.err);
  return result;
}

Deno.test("a run of the command line is a span, its calls and tools are its children, and all are exported before the end", async () => {
  await using receiver = startOtlpReceiver();
  await using place = await newTracedPlace(receiver);
  await run(place, ["agents", "set", "clerk", "--model", "demo:echo", "--tool", "calculator"]);
  const said = "private-prompt: calculate 21 * 2";
  const { out } = await run(place, ["run", "clerk", said, "--session", "s1", "--json"]);
  const result = JSON.parse(out);

  const whole = receiver.span("invoke_agent clerk");
  const usage = result.token_usage;
  assert.deepEqual(whole.attributes, {
    "gen_ai.agent.id": "clerk",
    "gen_ai.agent.name": "clerk",
    "gen_ai.conversation.id": "s1",
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.provider.name": "demo",
    "gen_ai.request.model": "echo",
    "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
    "gen_ai.usage.input_tokens": usage.input_tokens,
    "gen_ai.usage.output_tokens": usage.output_tokens,
    "purser.cost_usd": usage.cost_usd,
    "purser.run.id": result.run_id,
    "purser.run.status": "completed",
    "purser.run.steps": 2,
  });
  assert.deepEqual([whole.kind, whole.isError, whole.scope], [1, false, "purser"]);

  const calls = receiver.spans.filter(({ name }) => name === "chat echo");
  assert.equal(calls.length, 2);
  for (const call of calls) {
    assert.deepEqual([call.parentSpanId, call.traceId, call.kind], [whole.spanId, whole.traceId, 3]);
    assert.equal(call.attributes["gen_ai.response.model"], "echo");
  }
  const first = calls.find(({ attributes }) => attributes["purser.call.step"] === 1)!;
  assert.deepEqual(first.attributes["gen_ai.response.finish_reasons"], ["tool-calls"]);
  assert.equal(first.attributes["purser.price_source"], "demo");
  const costs = calls.map(({ attributes }) => attributes["purser.cost_usd"] as number);
  assert.equal((costs[0]! + costs[1]!).toFixed(9), usage.cost_usd.toFixed(9));

  const tool = receiver.span("execute_tool calculator");
  assert.deepEqual([tool.parentSpanId, tool.isError], [whole.spanId, false]);
  assert.equal(tool.attributes["gen_ai.tool.name"], "calculator");
  assert.equal(typeof tool.attributes["gen_ai.tool.call.id"], "string");

  const [tokens] = receiver.series("gen_ai.client.token.usage").filter(({ attributes }) =>
    attributes["gen_ai.token.type"] === "input"
  );
  assert.deepEqual([tokens!.count, tokens!.sum, tokens!.unit], [2, usage.input_tokens, "{token}"]);
  assert.deepEqual(tokens!.bounds.slice(0, 4), [1, 4, 16, 64]);
  const [duration] = receiver.series("gen_ai.client.operation.duration");
  assert.deepEqual([duration!.count, duration!.unit, duration!.bounds.at(-1)], [2, "s", 81.92]);
  assert.deepEqual(duration!.attributes, {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "demo",
    "gen_ai.request.model": "echo",
    "gen_ai.response.model": "echo",
  });
  assert.equal(receiver.series("gen_ai.invoke_agent.duration")[0]!.count, 1);
  assert.equal(receiver.series("gen_ai.execute_tool.duration")[0]!.count, 1);
  assertSaysNothing(receiver);
});

Deno.test("the requests of a tool are exported with their origin only", async () => {
  await using receiver = startOtlpReceiver();
  await using hook = startWebhookReceiver();
  await using place = await newTracedPlace(receiver, { tools: ["./tools.ts"] });
  await Deno.writeTextFile(
    `${place.folder}/purser/tools.ts`,
    `export default ({ tool, z }) => ({
      ask: tool({
        inputSchema: z.object({}),
        execute: async () => {
          await fetch("${hook.url}/private-path?q=private-prompt");
          await fetch("http://127.0.0.1:2/private-path?q=private-prompt");
        },
      }),
    });`,
  );
  await run(place, ["agents", "set", "asker", "--model", "demo:loop", "--tool", "ask"]);
  await run(place, ["run", "asker", "call it 1 times"]);
  const tool = receiver.span("execute_tool ask");
  assert.deepEqual([tool.isError, tool.attributes["error.type"]], [true, "TypeError"]);
  const requests = receiver.spans.filter(({ parentSpanId }) => parentSpanId === tool.spanId);
  assert.deepEqual(requests.map(({ attributes }) => attributes["url.full"]), [
    new URL(hook.url).origin,
    "http://127.0.0.1:2",
  ]);
  assertSaysNothing(receiver);
});

/** Starts `purser serve`, and returns its address. */
async function serve(place: Place): Promise<{ url: string; end: () => Promise<void> }> {
  const child = start(place, ["serve", "--port", "0"]);
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`it ended: ${said}`);
    said += value;
    const url = /answers at (http:\S+)/.exec(said)?.[1];
    if (!url) continue;
    reader.releaseLock();
    return {
      url,
      async end() {
        child.kill("SIGTERM");
        await child.status;
      },
    };
  }
}

const PARENT = { trace: "0af7651916cd43dd8448eb211c80319c", span: "b7ad6b7169203331" };

Deno.test("a server continues its caller's trace down to the provider, and records failures, budgets and deliveries", async () => {
  await using receiver = startOtlpReceiver();
  let calls = 0;
  await using fake = await startFakeProvider((request) =>
    ++calls === 1 ? answerTo(request, { text: "fine" }) : { status: 400, message: "private-key" }
  );
  await using hook = startWebhookReceiver();
  await using place = await newTracedPlace(receiver, {
    providers: { local: { base_url: fake.baseUrls.compatible, api_key: "private-key" } },
    prices: [{ provider: "local", model: "priced", input_usd_per_million: 1, output_usd_per_million: 4 }],
    channels: [{ name: "ops", kind: "webhook", url: `${hook.url}/private-path?token=private-key` }],
    allow_private_networks: ["127.0.0.0/8"],
  });
  const server = await serve(place);
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(server.url + path, {
      method,
      headers: {
        "content-type": "application/json",
        traceparent: `00-${PARENT.trace}-${PARENT.span}-01`,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  const agent = { name: "a", model: "local:priced", system_prompt: "private-system" };
  await send("PUT", "/agents/a", agent);
  await send("PUT", "/agents/b", {
    ...agent,
    name: "b",
    model: "demo:loop",
    tools: ["calculator"],
    cost_budget_usd: 0.000000001,
  });
  await send("POST", "/alerts/rules", {
    ...{ name: "any", threshold_type: "per_run_usd", threshold_usd: 0.000000001, severity: "critical" },
  });

  const input = "private-prompt";
  const done = await send("POST", "/agents/a/runs", { input });
  assert.equal(done.status, 200, JSON.stringify(done.body));
  await hook.untilReceived(1);
  const failed = await send("POST", "/agents/a/runs", { input: `${input} fails` });
  assert.equal(failed.status, 502);
  const stopped = await send("POST", "/agents/b/runs", { input: "count 3 times" });
  assert.equal(stopped.status, 402);
  // A key in the query of a URL, though it belongs into a header.
  const key = writeKeyText(createIds(systemClock).next("key"), "0".repeat(32));
  await send("GET", `/costs?api_key=${key}`);
  await send("GET", `/keys/${key}`);
  await server.end();

  const runOf = (id: string) =>
    receiver.spans.find(({ name, attributes }) =>
      name.startsWith("invoke_agent") && attributes["purser.run.id"] === id
    )!;
  const request = receiver.spans.find(({ spanId }) => spanId === runOf(done.body.run_id).parentSpanId)!;
  assert.equal(request.name, "POST /agents/{agent_id}/runs");
  assert.deepEqual([request.traceId, request.parentSpanId, request.kind], [PARENT.trace, PARENT.span, 2]);
  assert.equal(request.attributes["http.route"], "/agents/{agent_id}/runs");
  const servers = receiver.spans.filter(({ kind, attributes }) =>
    kind === 2 && attributes["http.route"] === "/agents/{agent_id}/runs"
  );
  assert.equal(servers.length, 3, "one server span for each request");

  const call = receiver.span("chat priced", ({ isError }) => !isError);
  assert.equal(call.parentSpanId, runOf(done.body.run_id).spanId);
  assert.equal(call.attributes["purser.cost_usd"], done.body.token_usage.cost_usd);
  const outgoing = receiver.span("POST", ({ parentSpanId }) => parentSpanId === call.spanId);
  assert.equal(outgoing.attributes["url.full"], fake.url);
  assert.equal(outgoing.attributes["url.path"], undefined);
  assert.ok(fake.requests[0]!.headers.traceparent!.includes(outgoing.spanId));

  const whole = runOf(failed.body.run_id);
  assert.deepEqual([whole.isError, whole.attributes["error.type"]], [true, "provider_error"]);
  assert.equal(whole.attributes["purser.run.status"], "failed");
  const failure = receiver.span("chat priced", ({ isError }) => isError);
  assert.deepEqual([failure.parentSpanId, failure.attributes["error.type"]], [whole.spanId, "400"]);

  const budget = runOf(stopped.body.run_id);
  assert.deepEqual(
    [budget.attributes["purser.run.status"], budget.attributes["error.type"], budget.isError],
    ["budget_exceeded", "budget_exceeded", true],
  );
  assert.equal(budget.attributes["purser.budget_usd"], 0.000000001);
  assert.equal(budget.attributes["purser.cost_usd"], stopped.body.details.cost_usd_so_far);

  const delivery = receiver.spans.find(({ name }) => name === "deliver webhook")!;
  assert.deepEqual([delivery.parentSpanId, delivery.kind, delivery.isError], ["", 3, false]);
  assert.equal(delivery.attributes["purser.channel.name"], "ops");
  assert.equal(delivery.attributes["purser.delivery.outcome"], "delivered");
  assert.match(String(delivery.attributes["purser.delivery.subject_id"]), /^alert_/);
  const posted = receiver.span("POST", ({ parentSpanId }) => parentSpanId === delivery.spanId);
  assert.equal(posted.attributes["url.full"], new URL(hook.url).origin);
  const series = receiver.series("purser.delivery.duration").find(({ attributes }) =>
    attributes["purser.channel.name"] === "ops"
  );
  assert.ok(series!.count >= 1);
  assertSaysNothing(receiver);
  assert.equal(receiver.span("GET /costs", () => true).attributes["url.query"], "api_key=psr_…");
  assert.ok(!receiver.text().includes(key), "a key in an address was exported");
});
