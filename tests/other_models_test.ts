import assert from "node:assert/strict";
import { anthropicAnswer } from "./fixtures/providers/mod.ts";
import { requestFor, sendTo } from "./gateway/requests.ts";
import { EVENT } from "./harness/bodies.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { LOG } from "./harness/sightings.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";
import { readLogs, toLines } from "./ingest/read_logs.ts";
import { sightingToWire } from "../src/cli/commands/import/import_books.ts";
import type { SightingsResult } from "../src/contract/costs/sightings.ts";
import claudeCode from "../src/ingest/logs/claude_code.ts";

/** Parts of other models, and counts that no rule knows, in the ledger, the API, reports and repricings. */

const CLAUDE = { api: "anthropic", provider: "anthropic", model: "claude-haiku-4-5" } as const;

/** An answer that was advised by Opus 5, searched twice, and has a count that no rule knows. */
const ANSWER = anthropicAnswer({
  model: CLAUDE.model,
  text: "4",
  usage: {
    input_tokens: 10,
    output_tokens: 5,
    server_tool_use: { web_search_requests: 2, new_tool_requests: 3 },
    iterations: [
      { type: "message", input_tokens: 10, output_tokens: 5 },
      {
        type: "advisor_message",
        model: "claude-opus-5",
        input_tokens: 1_000,
        output_tokens: 200,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      },
    ],
  },
});

/** 10 x 1 + 5 x 5 + 2 x 10/k, and 1000 x 5 + 100 x 6.25 + 200 x 10 + 200 x 25 of Opus. */
const COST_USD = 0.03266;

const PARTS = {
  web_searches: 2,
  other_counts: { "server_tool_use.new_tool_requests": 3 },
  other_models: [{
    model: "claude-opus-5",
    input_tokens: 1_300,
    output_tokens: 200,
    cache_write_tokens: 300,
    cache_write_1h_tokens: 200,
  }],
  unpriced_parts: ["server_tool_use.new_tool_requests"],
};

/** Imports the log of Claude Code with that answer, as to a server. */
async function importLog({ api, clock }: TestPurser): Promise<SightingsResult> {
  const record = {
    type: "assistant",
    timestamp: new Date(clock.now()).toISOString(),
    sessionId: "s-main",
    requestId: "req_011CSHoEeqs5C35K2UUqR7Fy",
    message: ANSWER.body,
  };
  const { calls } = readLogs(claudeCode, { ".claude/projects/shop/s-main.jsonl": toLines(record) });
  const { source, name, machine, agentId: agent_id } = LOG;
  const { body } = await api("POST", "/sightings", {
    origin: { source, name, machine, agent_id },
    sightings: calls.map(sightingToWire),
  });
  return body;
}

async function openCalled(): Promise<{ purser: TestPurser; callId: string; close(): Promise<void> }> {
  const fake = await startFakeProvider();
  const purser = await openTestPurser({ fake });
  fake.enqueue({ answer: ANSWER });
  const response = await sendTo(purser, requestFor(CLAUDE, { isStreamed: false }));
  await response.text();
  assert.equal(response.headers.get("x-purser-cost-usd"), String(COST_USD));
  const close = async () => {
    await purser[Symbol.asyncDispose]();
    await fake.close();
  };
  return { purser, callId: response.headers.get("x-purser-call-id")!, close };
}

Deno.test("a call with parts of another model costs the sum, and its price is explained line by line", async () => {
  const { purser, callId, close } = await openCalled();
  const { body: { call, booked } } = await purser.api("GET", `/costs/calls/${callId}`);
  assert.deepEqual({ ...call, ...PARTS, cost_usd: COST_USD, input_tokens: 10, output_tokens: 5 }, call);
  const lines = booked.lines.map((
    line: Record<string, unknown>,
  ) => [line.part, line.model, line.quantity, line.cost_usd]);
  assert.deepEqual(lines, [
    ["input_tokens", undefined, 10, 0.00001],
    ["output_tokens", undefined, 5, 0.000025],
    ["web_searches", undefined, 2, 0.02],
    ["server_tool_use.new_tool_requests", undefined, 3, null],
    ["input_tokens", "claude-opus-5", 1_000, 0.005],
    ["cache_write_tokens", "claude-opus-5", 100, 0.000625],
    ["cache_write_1h_tokens", "claude-opus-5", 200, 0.002],
    ["output_tokens", "claude-opus-5", 200, 0.005],
  ]);
  assert.deepEqual([booked.computed_usd, booked.difference_usd], [COST_USD, 0]);
  const { body: [row] } = await purser.api("GET", "/costs?group_by=model");
  assert.deepEqual([row.model, row.cost_usd, row.partly_priced_calls], [CLAUDE.model, COST_USD, 1]);
  await close();
});

Deno.test("a call with parts of another model is repriced to the same cost", async () => {
  const { purser, close } = await openCalled();
  const { body } = await purser.api("POST", "/repricings", { unpriced: true, apply: true });
  assert.deepEqual([body.calls, body.changed_calls], [1, 0]);
  await close();
});

Deno.test("a cost event with parts of another model can be reported back, and priced under another id", async () => {
  const { purser, callId, close } = await openCalled();
  const { body: { call } } = await purser.api("GET", `/costs/calls/${callId}`);
  assert.deepEqual((await purser.api("POST", "/costs/events", [call])).body, {
    booked: 0,
    duplicates: 1,
    unpriced: 0,
  });
  const changes = [
    { other_counts: { "server_tool_use.new_tool_requests": 4 } },
    { other_counts: undefined },
    { other_models: [{ ...PARTS.other_models[0], output_tokens: 201 }] },
    { other_models: undefined },
  ];
  // With the id of the answer, the report is one more witness of the call, and less sure than the gateway.
  const { response_id: _answer, ...named } = call;
  for (const change of changes) {
    assert.equal((await purser.api("POST", "/costs/events", [{ ...named, ...change }])).status, 409);
  }
  const { cost_usd: _cost, unpriced_parts: _parts, ...reported } = named;
  const report = { ...reported, call_id: "again", session_id: "ses_again" };
  assert.equal((await purser.api("POST", "/costs/events", [report])).status, 201);
  const { body: { calls: [again] } } = await purser.api("GET", "/sessions/ses_again/costs");
  assert.deepEqual({ ...again, ...PARTS }, again);
  // The report has no one-hour writes of the call itself, and those of the other model.
  assert.equal(again.cost_usd, COST_USD);
  await close();
});

Deno.test("parts of another model that contradict each other are refused, naming the model", async () => {
  await using purser = await openTestPurser();
  const other = { model: "claude-opus-5", input_tokens: 10, output_tokens: 1, cache_read_tokens: 11 };
  const { status, body } = await purser.api("POST", "/costs/events", [{ ...EVENT, other_models: [other] }]);
  assert.equal(status, 400);
  assert.match(body.detail, /of claude-opus-5, its cache reads and writes are 11 tokens of only 10/);
  const unknown = { ...other, cache_read_tokens: 0, tokens: 4 };
  assert.equal(
    (await purser.api("POST", "/costs/events", [{ ...EVENT, other_models: [unknown] }])).status,
    400,
  );
});

for (const isStreamed of [false, true]) {
  for (const isLogFirst of [false, true]) {
    const order = isLogFirst ? "a log, then by the gateway" : "the gateway, then in a log";
    Deno.test(`an advised call that is seen by ${order} counts once (${isStreamed ? "streamed" : "whole"})`, async () => {
      await using fake = await startFakeProvider();
      await using purser = await openTestPurser({ fake });
      const costs = async () => {
        const { body: [row] } = await purser.api("GET", "/costs?group_by=provider");
        return row && [row.model_calls, row.input_tokens, row.output_tokens, row.cost_usd];
      };
      const whole = [1, 10, 5, COST_USD];
      if (isLogFirst) {
        assert.equal((await importLog(purser)).booked, 1);
        assert.deepEqual(await costs(), whole);
      }
      fake.enqueue({ answer: ANSWER });
      await (await sendTo(purser, requestFor(CLAUDE, { isStreamed }))).text();
      assert.deepEqual(await costs(), whole);
      const { booked, conflicts } = await importLog(purser);
      assert.deepEqual([booked, conflicts, await costs()], [0, 0, whole]);
    });
  }
}
