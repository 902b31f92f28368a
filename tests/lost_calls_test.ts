import assert from "node:assert/strict";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { meter } from "../src/runner/mod.ts";
import { countAnswers } from "../src/runner/models/answered_requests.ts";
import { answerTo, rawUsage } from "./harness/answers.ts";
import { callOptions, fakeModel } from "./harness/fake_model.ts";
import type { ProviderRequest } from "./harness/fake_provider.ts";
import { type RawProvider, type RawReply, startRawProvider } from "./harness/raw_provider.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";
import { isInTurn } from "./harness/thorough.ts";
import { usageOf } from "../src/pricing/mod.ts";

/**
 * The ledger after a call whose answer never arrived or could not be read: whatever the provider may have
 * charged, by the usage that it has sent or else by an estimate, with a warning.
 */

interface Wire {
  name: string;
  /** The name of the model in an agent. */
  model: string;
  api: ProviderRequest["api"];
}

const WIRES: Wire[] = [
  { name: "OpenAI chat", model: "openai.chat:gpt-4o-mini", api: "openai-chat" },
  { name: "OpenAI responses", model: "openai:gpt-5-mini", api: "openai-responses" },
  { name: "Anthropic", model: "anthropic:claude-haiku-4-5", api: "anthropic" },
  { name: "Gemini", model: "google:gemini-2.5-flash", api: "google" },
  { name: "OpenAI-compatible", model: "local:my-model", api: "openai-chat" },
];

const WAYS = ["whole", "streamed"] as const;
type Way = typeof WAYS[number];

/** An answer whose text is estimated to 8 tokens. */
const TEXT = "An answer of thirty-two letters.";

const answerOf = ({ api }: Wire) => answerTo({ api, model: "m" }, { text: TEXT }).answer;

const EVENT_STREAM = "text/event-stream";

/** An answer as the wire sends it. */
function goodReply(wire: Wire, way: Way): RawReply & { body: string } {
  const { body, frames } = answerOf(wire);
  return way === "whole"
    ? { status: 200, body: JSON.stringify(body) }
    : { status: 200, contentType: EVENT_STREAM, body: frames.join("") };
}

/** The same without its usage. */
function withoutUsage(wire: Wire, way: Way): RawReply {
  const reply = goodReply(wire, way);
  const usage = /,?"(usage|usageMetadata)":\{([^{}]|\{[^{}]*\})*\}/g;
  return { ...reply, body: reply.body.replace(usage, "").replaceAll("{,", "{") };
}

/** The body of an error status that has a usage of 10 tokens in and 2 out. */
function errorWithUsage({ api }: Wire): string {
  const usage = rawUsage(api, usageOf({ inputTokens: 10, outputTokens: 2 }));
  const error = { type: "api_error", message: "Failed", code: 500, status: "INTERNAL" };
  return JSON.stringify({ type: "error", error, [api === "google" ? "usageMetadata" : "usage"]: usage });
}

interface Row {
  input: number;
  output: number;
  isEstimated: boolean;
}

async function rows(purser: TestPurser): Promise<Row[]> {
  const sql = "SELECT input_tokens, output_tokens, is_estimated, cost_nano_usd FROM calls";
  return (await purser.core.store.read({ sql })).rows.map(([input, output, isEstimated, cost]) => {
    assert.ok(cost as bigint > 0n, "it has a cost");
    return { input: Number(input), output: Number(output), isEstimated: Number(isEstimated) === 1 };
  });
}

async function meteredModel(purser: TestPurser, name: string, budgetUsd?: number): Promise<LanguageModelV4> {
  const { model, provider } = await purser.core.models.resolve(name);
  return meter(purser.core, model, {
    agentId: "outside",
    provider,
    ...(budgetUsd && { runId: "run_1", costBudgetUsd: budgetUsd, budgetMode: "strict" }),
  });
}

/** Makes a call without a retry. Returns the error that it has failed with, or that its stream has reported. */
async function call(model: LanguageModelV4, way: Way): Promise<unknown> {
  const options = callOptions("Hello", { maxOutputTokens: 100 });
  try {
    if (way === "whole") return void await model.doGenerate(options);
    const { stream } = await model.doStream(options);
    let reported: unknown;
    for await (const part of stream) if (part.type === "error") reported ??= part.error;
    return reported;
  } catch (error) {
    return error;
  }
}

/** The booking: nothing, the provider's counts, or an estimate of at least so much output. */
type Booked = "nothing" | "counts" | { outputFrom: number };

interface Case {
  name: string;
  reply(wire: Wire, way: Way): RawReply;
  ways?: Way[];
  booked(wire: Wire, way: Way): Booked;
  /** True if the call fails for its caller; the default. */
  fails?(wire: Wire, way: Way): boolean;
}

const CASES: Case[] = [
  { name: "a reset before the answer", reply: () => ({ then: "reset" }), booked: () => ({ outputFrom: 0 }) },
  { name: "an end before the answer", reply: () => ({ then: "close" }), booked: () => ({ outputFrom: 0 }) },
  {
    name: "a whole answer that is reset in its middle",
    ways: ["whole"],
    reply: (wire, way) => ({ ...goodReply(wire, way), then: "reset" }),
    booked: () => ({ outputFrom: 0 }),
  },
  {
    name: "a whole answer that ends in its middle",
    ways: ["whole"],
    reply: (wire, way) => ({ ...goodReply(wire, way), then: "break" }),
    booked: () => ({ outputFrom: 0 }),
  },
  {
    name: "a stream that is reset after some text",
    ways: ["streamed"],
    reply(wire) {
      const { frames } = answerOf(wire);
      const until = { "openai-chat": 3, "openai-responses": 6, "anthropic": 5, "google": 1 }[wire.api];
      return { status: 200, contentType: EVENT_STREAM, body: frames.slice(0, until).join(""), then: "reset" };
    },
    // The server may be reset before the client has read the last bytes.
    booked: () => ({ outputFrom: 0 }),
  },
  {
    name: "an answer with status 200 that is not JSON",
    reply: () => ({ status: 200, body: "<html>Bad gateway</html>" }),
    booked: (_wire, way) => ({ outputFrom: way === "whole" ? 6 : 0 }),
  },
  {
    name: "an answer with status 200 that is JSON of another shape",
    reply: () => ({ status: 200, body: '{"surprise":"It is all here."}' }),
    booked: (_wire, way) => ({ outputFrom: way === "whole" ? 7 : 0 }),
  },
  {
    name: "an answer with status 200 that is cut off",
    ways: ["whole"],
    reply: (wire, way) => ({ ...goodReply(wire, way), body: goodReply(wire, way).body.slice(0, -40) }),
    booked: () => ({ outputFrom: 8 }),
  },
  {
    name: "an empty answer with status 200",
    reply: (_wire, way) => ({
      status: 200,
      contentType: way === "whole" ? undefined : EVENT_STREAM,
      body: "",
    }),
    booked: () => ({ outputFrom: 0 }),
  },
  {
    name: "an answer that the SDK can't read, with its usage",
    ways: ["whole"],
    reply({ api }) {
      const usage = rawUsage(api, usageOf({ inputTokens: 10, outputTokens: 2 }));
      const body = { choices: 7, content: 7, candidates: 7, output: 7, usage, usageMetadata: usage };
      return { status: 200, body: JSON.stringify(body) };
    },
    booked: () => "counts",
  },
  {
    name: "an answer without usage",
    reply: withoutUsage,
    // The SDK refuses one of Anthropic, and keeps nothing of it in a stream.
    booked: ({ api }, way) => ({ outputFrom: api === "anthropic" && way === "streamed" ? 0 : 8 }),
    fails: ({ api }) => api === "anthropic",
  },
  {
    name: "a status 500 with usage",
    reply: (wire) => ({ status: 500, body: errorWithUsage(wire) }),
    booked: () => "counts",
  },
  {
    name: "a status 429 without usage",
    reply: () => ({ status: 429, body: '{"error":{"message":"Slow down","type":"rate_limit"}}' }),
    booked: () => "nothing",
  },
  {
    name: "a status 502 that is not JSON",
    reply: () => ({ status: 502, body: "<html>Bad gateway</html>" }),
    booked: () => "nothing",
  },
  {
    name: "a stream with status 200 that has only an error",
    ways: ["streamed"],
    reply: () => ({
      status: 200,
      contentType: EVENT_STREAM,
      body:
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded","code":529}}\n\n',
    }),
    booked: () => ({ outputFrom: 0 }),
  },
];

for (const [turn, wire] of WIRES.entries()) {
  for (const [place, { name, ways = WAYS, reply, booked, fails = () => true }] of CASES.entries()) {
    for (const [index, way] of ways.entries()) {
      // The gate tries each case of a wire whole or streamed, of the next one the other way.
      if (ways.length > 1 && !isInTurn(turn + place + index)) continue;
      const expected = booked(wire, way);
      const what = typeof expected === "string" ? expected : "an estimate";
      Deno.test(`${wire.name}, ${way}: ${name} books ${what}, and sends one request`, async () => {
        await using provider = await startRawProvider(() => reply(wire, way));
        await using purser = await openTestPurser({ fake: provider });
        const error = await call(await meteredModel(purser, wire.model), way);
        assert.equal(error !== undefined, fails(wire, way), Deno.inspect(error));
        assert.equal(provider.requests.length, 1);
        checkRows(await rows(purser), expected);
        const warnings = purser.logs.filter(({ message }) => /booked as an estimate/.test(message));
        assert.equal(warnings.length, what === "an estimate" ? 1 : 0);
        for (const { fields } of warnings) assert.ok(String(fields.reason).length > 5, Deno.inspect(fields));
      });
    }
  }
}

function checkRows(found: Row[], expected: Booked): void {
  if (expected === "nothing") return assert.deepEqual(found, []);
  if (expected === "counts") return assert.deepEqual(found, [{ input: 10, output: 2, isEstimated: false }]);
  const [row, ...others] = found;
  assert.equal(others.length, 0);
  assert.equal(row?.isEstimated, true);
  assert.ok(row.input > 0 && row.output >= expected.outputFrom && row.output <= 100, Deno.inspect(row));
}

for (const wire of WIRES) {
  Deno.test(`${wire.name}: a connection that was never made books nothing`, async () => {
    let provider: RawProvider;
    {
      await using closed = await startRawProvider(() => ({}));
      provider = closed;
    }
    const tls = { ...provider, baseUrls: secure(provider.baseUrls) };
    await using plain = await startRawProvider(() => ({ then: "close" }));
    const noName = { ...provider, baseUrls: replaced(provider.baseUrls, /127\.0\.0\.1/, "nothing.invalid") };
    const noTls = { ...plain, baseUrls: secure(plain.baseUrls) };
    for (const [place, fake] of [provider, tls, noName, noTls].entries()) {
      for (const [index, way] of WAYS.entries()) {
        if (!isInTurn(place + index)) continue;
        await using purser = await openTestPurser({ fake });
        assert.ok(await call(await meteredModel(purser, wire.model), way) instanceof Error);
        assert.deepEqual(await rows(purser), []);
      }
    }
  });
}

function replaced(urls: RawProvider["baseUrls"], pattern: RegExp, text: string): RawProvider["baseUrls"] {
  return JSON.parse(
    JSON.stringify(urls, (_key, url) => typeof url === "string" ? url.replace(pattern, text) : url),
  );
}

const secure = (urls: RawProvider["baseUrls"]) => replaced(urls, /^http:/, "https:");

for (const wire of WIRES) {
  Deno.test(`${wire.name}: sixty calls under a strict budget of $0.01 that get garbage are refused at $0.01`, async () => {
    await using provider = await startRawProvider(() => ({ status: 200, body: "garbage ".repeat(200) }));
    await using purser = await openTestPurser({ fake: provider });
    const model = await meteredModel(purser, wire.model, 0.01);
    const errors: unknown[] = [];
    for (let i = 0; i < 60; i++) errors.push(await call(model, "whole"));
    const cost = (await purser.core.store.read({ sql: "SELECT sum(cost_nano_usd) FROM calls" })).rows[0]![0];
    assert.ok(cost as bigint <= 10_000_000n, String(cost));
    const { length } = await rows(purser);
    assert.equal(length, provider.requests.length);
    assert.ok(length < 60, `${length} calls were sent`);
    assert.match(String(errors.at(-1)), /budget/);
  });
}

Deno.test("a run records the attempts that failed and may have been charged, and its budget sees them", async () => {
  await using provider = await startRawProvider(() => ({ status: 200, body: "garbage" }));
  await using purser = await openTestPurser({ fake: provider });
  await purser.api("PUT", "/agents/a", { model: "openai.chat:gpt-4o-mini", cost_budget_usd: 1 });
  const { status, body } = await purser.api("POST", "/agents/a/runs", { input: "Hi", session_id: "s1" });
  assert.equal(status, 502);
  const { body: run } = await purser.api("GET", `/runs/${body.run_id}`);
  assert.deepEqual([run.status, run.token_usage.model_calls], ["failed", 1]);
  const events = await purser.events("s1");
  assert.deepEqual(events.map(({ type }) => type), [
    "session.created",
    "run.started",
    "model.failed",
    "model.called",
    "cost.recorded",
    "run.failed",
  ]);
  assert.equal(events[3]!.payload.estimated, true);
});

/** A model whose call fails with an error that says nothing, before or after a successful answer. */
async function defective(when: "before" | "after"): Promise<LanguageModelV4> {
  const { model } = fakeModel(() => Promise.reject(new Error("not used")));
  return await countAnswers(() => Promise.resolve(new Response("{}")), (fetch) =>
    Promise.resolve({
      ...model,
      async doGenerate() {
        if (when === "after") await fetch("https://api.example");
        throw new TypeError("Cannot read properties of undefined");
      },
    }));
}

for (const [when, calls] of [["before", 0], ["after", 1]] as const) {
  Deno.test(`a defect of a provider's package ${when} the answer books ${calls} calls`, async () => {
    await using purser = await openTestPurser();
    const model = meter(purser.core, await defective(when), { agentId: "outside", provider: "openai" });
    assert.ok(await call(model, "whole") instanceof TypeError);
    const { rows } = await purser.core.store.read({ sql: "SELECT is_estimated FROM calls" });
    assert.deepEqual(rows.map(Number), Array(calls).fill(1));
  });
}
