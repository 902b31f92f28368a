import { AGENT_DEFAULTS } from "../src/contract/limits.ts";
import { generateText, streamText, tool } from "ai";
import assert from "node:assert/strict";
import { z } from "zod";
import { meter } from "../src/runner/mod.ts";
import { createOpenTelemetry, hideUrlsIn } from "../src/telemetry/open_telemetry.ts";
import { noTelemetry } from "../src/telemetry/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { LOCAL_PRICE } from "./harness/booking.ts";
import { endParts, fakeModel, textParts } from "./harness/fake_model.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { recordingTelemetry } from "./harness/recording_telemetry.ts";
import { openTestPurser, rejection } from "./harness/test_purser.ts";

/** Tools with different outcomes. */
const TOOLS = {
  breaks: tool({
    inputSchema: z.object({}),
    execute: (): Promise<string> => Promise.reject(new RangeError("a secret")),
  }),
  throws: tool({
    inputSchema: z.object({}),
    execute: (): string => {
      throw new RangeError("a secret");
    },
  }),
  trickles: tool({
    inputSchema: z.object({}),
    async *execute() {
      yield "one";
      yield "two";
    },
  }),
};

for (const isStreamed of [false, true]) {
  const how = isStreamed ? "streamed" : "not streamed";

  Deno.test(`a run that is ${how} is the parent of its calls and tools, and all spans end`, async () => {
    for (const [name, errorType] of [["breaks", "RangeError"], ["throws", "RangeError"], ["trickles"]]) {
      const telemetry = recordingTelemetry();
      await using purser = await openTestPurser({ telemetry, tools: TOOLS });
      await purser.run(
        { model: "demo:loop", tools: [name!], maxSteps: 2 },
        "continue",
        isStreamed ? { onPart() {} } : {},
      );
      const run = telemetry.span("invoke_agent tester");
      assert.equal(run.above, null);
      const inside = telemetry.spans.filter((span) => span !== run && !span.name.startsWith("deliver"));
      assert.deepEqual(inside.map((span) => span.name).sort(), [
        ...["chat loop", "chat loop"],
        ...[`execute_tool ${name}`, `execute_tool ${name}`],
      ]);
      for (const span of [run, ...inside]) assert.ok(span.hasEnded, span.name);
      for (const span of inside) {
        assert.equal(span.above, run, span.name);
        assert.equal(span.errorType, span.name.startsWith("execute") ? errorType : undefined);
        if (span.name === "chat loop") {
          assert.equal(span.attributes["gen_ai.request.stream"], isStreamed || undefined);
          assert.equal(span.attributes["gen_ai.response.model"], "loop");
        }
      }
      assert.ok(!JSON.stringify(telemetry).includes("a secret"));
    }
  });

  Deno.test(`a call that a provider aborts, ${how}, ends as failed, and so does its run`, async () => {
    await using fake = await startFakeProvider((request) =>
      request.isStreamed
        ? { brokenAfter: answerTo(request, { text: "Half an answer" }).answer.frames.slice(0, 2) }
        : { status: 400, message: "no" }
    );
    const telemetry = recordingTelemetry();
    await using purser = await openTestPurser({ telemetry, fake });
    await rejection(
      purser.run({ model: "openai.chat:gpt-4o-mini" }, "Hi", isStreamed ? { onPart() {} } : {}),
    );
    const calls = telemetry.spans.filter((span) => span.name === "chat gpt-4o-mini");
    assert.ok(calls.length > 0);
    for (const call of calls) assert.ok(call.hasEnded && call.errorType !== undefined);
    const run = telemetry.span("invoke_agent tester");
    assert.deepEqual([run.hasEnded, run.errorType, run.attributes["purser.run.status"]], [
      true,
      "provider_error",
      "failed",
    ]);
    assert.equal(run.attributes["gen_ai.provider.name"], "openai");
  });
}

Deno.test("a cancelled run is no failure, but its call is", async () => {
  const telemetry = recordingTelemetry();
  const asked = Promise.withResolvers<void>();
  await using fake = await startFakeProvider(() => {
    asked.resolve();
    return { hang: true };
  });
  await using purser = await openTestPurser({ telemetry, fake });
  const controller = new AbortController();
  const run = purser.run({ model: "openai.chat:gpt-4o-mini" }, "Hi", { signal: controller.signal });
  await asked.promise;
  controller.abort();
  assert.equal((await run).status, "cancelled");
  const span = telemetry.span("invoke_agent tester");
  assert.deepEqual([span.errorType, span.attributes["purser.run.status"]], [undefined, "cancelled"]);
  assert.equal(telemetry.span("chat gpt-4o-mini").errorType, "cancelled");
  assert.ok(
    !telemetry.records.some(({ metric }) => metric === "gen_ai.client.token.usage"),
    "it is an estimate",
  );
});

Deno.test("meter() records its calls as children of the caller's span, streamed ones at their end", async () => {
  const telemetry = recordingTelemetry();
  await using purser = await openTestPurser({ telemetry, config: { prices: [LOCAL_PRICE] } });
  const answer = { inputTokens: 10, outputTokens: 5 };
  const { model } = fakeModel(() => Promise.resolve(answer), async function* () {
    yield* textParts("Hello");
    assert.ok(!telemetry.spans.at(-1)!.hasEnded);
    yield* endParts(answer);
  });
  const metered = meter(purser.core, model, {
    agentId: "mine",
    sessionId: "s1",
    runId: "r1",
    costBudgetUsd: 1,
  });
  const above = telemetry.startSpan({
    name: "outer",
    kind: "internal",
    attributes: {},
    durationMetric: "gen_ai.invoke_agent.duration",
  });
  await above.run(() =>
    generateText({ model: metered, prompt: "a prompt", maxOutputTokens: 7, temperature: 0.5 })
  );
  await streamText({ model: metered, prompt: "a prompt" }).text;
  const [first, second] = telemetry.spans.filter((span) => span.name === "chat priced");
  assert.equal(first!.above, telemetry.span("outer"));
  assert.equal(second!.above, null);
  assert.ok(first!.hasEnded && second!.hasEnded);
  const { attributes } = first!;
  assert.equal(attributes["gen_ai.request.max_tokens"], 7);
  assert.equal(attributes["gen_ai.request.temperature"], 0.5);
  assert.equal(attributes["gen_ai.agent.id"], "mine");
  assert.equal(attributes["gen_ai.conversation.id"], "s1");
  assert.equal(attributes["purser.run.id"], "r1");
  assert.equal(attributes["purser.cost_usd"], 0.00003);
  assert.ok(!JSON.stringify([telemetry.spans, telemetry.records]).includes("a prompt"));
});

Deno.test("a call that the budget refuses is no span", async () => {
  const telemetry = recordingTelemetry();
  await using purser = await openTestPurser({ telemetry });
  const agent = { ...AGENT_DEFAULTS, model: "demo:echo", costBudgetNanoUsd: 0n };
  const error = await rejection(purser.run(agent, "Hi"));
  assert.equal(error.code, "budget_exceeded");
  assert.deepEqual(telemetry.spans.map((span) => [span.name, span.errorType]), [
    ["invoke_agent tester", "budget_exceeded"],
  ]);
});

Deno.test("an error of an OpenTelemetry implementation does not affect the traced operation", async () => {
  let faults = 0;
  const fault = () => {
    faults++;
    throw new Error("broken");
  };
  const REGISTRY = Symbol.for("opentelemetry.js.api.1");
  const broken = { getTracer: () => ({ startSpan: fault }), getMeter: () => ({ createHistogram: fault }) };
  const registered = { version: "1.999.999", trace: broken, metrics: broken };
  Object.assign(globalThis, { [REGISTRY]: registered });
  try {
    const telemetry = createOpenTelemetry({ monotonic: () => 0 });
    await using purser = await openTestPurser({ telemetry });
    assert.equal((await purser.run({}, "Hi")).status, "completed");
    assert.ok(faults >= 2, `it was asked ${faults} times`);
  } finally {
    delete (globalThis as Record<symbol, unknown>)[REGISTRY];
  }
});

Deno.test("without an implementation a core records nothing", async () => {
  await using purser = await openTestPurser();
  assert.equal(purser.core.telemetry, noTelemetry);
});

Deno.test("without an implementation OpenTelemetry's package is not even loaded", async () => {
  const program = `
    const { openCore } = await import(${
    JSON.stringify(new URL("../src/service/mod.ts", import.meta.url).href)
  });
    const core = await openCore({ config: { dbUrl: ":memory:", durability: "normal", environment: "test",
      remoteTimeoutMs: 1000, maxBodyBytes: 1000 } });
    await core.close();`;
  const read = async (env: Record<string, string>) => {
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--log-level=debug", "--no-check", program],
      env,
      cwd: new URL("..", import.meta.url).pathname,
    }).output();
    assert.equal(code, 0);
    return new TextDecoder().decode(stderr).includes("@opentelemetry/api/1.");
  };
  const env = { OTEL_DENO: "true", OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" };
  assert.deepEqual([await read({ OTEL_DENO: "" }), await read(env)], [false, true]);
});

Deno.test("hideUrlsIn() reduces every address to its origin", () => {
  const cases: [unknown, unknown][] = [
    ["https://hooks.slack.com/services/T/B/x?y=z", "https://hooks.slack.com"],
    ["error for url (https://u:p@h:8/a(b)c): refused", "error for url (https://h:8 refused"],
    ["no address", "no address"],
    ["http://", "http://"],
    [7, 7],
  ];
  for (const [text, hidden] of cases) assert.equal(hideUrlsIn(text), hidden);
});
