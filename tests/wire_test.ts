import assert from "node:assert/strict";
import type { Usage } from "../src/pricing/mod.ts";
import { type Fixture, providerFixtures } from "./fixtures/providers/mod.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** The name of a fixture's model in an agent. */
function modelName({ api, provider, model }: Fixture): string {
  return `${api === "openai-chat" ? "openai.chat" : provider}:${model}`;
}

/** Runs a fixture's agent to its end: by the API's stream, by the API, or by the library with a listener. */
async function play(purser: TestPurser, fixture: Fixture, way: "whole" | "streamed") {
  const tools = fixture.rounds.length > 1 ? ["calculator"] : [];
  await purser.api("PUT", "/agents/wired", { model: modelName(fixture), tools });
  const input = { input: "What is 2+2?" };
  if (way === "whole") return (await purser.api("POST", "/agents/wired/runs", input)).body;
  const stream = await purser.fetch("POST", "/agents/wired/runs", {
    body: input,
    headers: { accept: "text/event-stream" },
  });
  const last = (await stream.text()).trim().split("\n\n").at(-1)!;
  assert.match(last, /^event: result\n/, last);
  return JSON.parse(last.split("data: ")[1]!);
}

function sum(
  rounds: Fixture["rounds"],
  count: Exclude<keyof Usage, "details" | "others" | "models">,
): number {
  return rounds.reduce((total, { usage }) => total + usage[count], 0);
}

/** Nano-USD as the wire's number of USD, computed independently of `money.ts`: the double nearest to the quotient. */
function usd(nano: bigint): number {
  return Number(nano) / 1e9;
}

async function readNano(purser: TestPurser, sql: string): Promise<bigint[]> {
  return (await purser.core.store.read({ sql })).rows.map(([value]) => value as bigint);
}

function expectedUsage({ rounds }: Fixture) {
  return {
    input_tokens: sum(rounds, "inputTokens"),
    output_tokens: sum(rounds, "outputTokens"),
    total_tokens: sum(rounds, "inputTokens") + sum(rounds, "outputTokens"),
    cache_read_tokens: sum(rounds, "cacheReadTokens"),
    cache_write_tokens: sum(rounds, "cacheWriteTokens"),
    reasoning_tokens: sum(rounds, "reasoningTokens"),
    cost_usd: usd(rounds.reduce((total, round) => total + round.costNanoUsd, 0n)),
    model_calls: rounds.length,
    unpriced_calls: 0,
    partly_priced_calls: 0,
  };
}

for (const fixture of providerFixtures) {
  for (const way of ["whole", "streamed"] as const) {
    Deno.test(`${fixture.name}, ${way}, is in the ledger and in every total to the nano-USD`, async () => {
      await using fake = await startFakeProvider();
      await using purser = await openTestPurser({ fake });
      fake.enqueue(...fixture.rounds.map(({ answer }) => ({ answer })));
      const result = await play(purser, fixture, way);
      assert.equal(result.status, "completed");
      assert.equal(fake.calls, fixture.rounds.length);
      assert.ok(fake.requests.every(({ isStreamed }) => isStreamed === (way === "streamed")));

      const expected = expectedUsage(fixture);
      const nano = fixture.rounds.map((round) => round.costNanoUsd);
      const total = nano.reduce((a, b) => a + b);
      assert.deepEqual(await readNano(purser, "SELECT cost_nano_usd FROM calls ORDER BY step"), nano);
      for (const view of ["run_usage", "session_usage", "total_usage", "daily_usage", "hourly_usage"]) {
        const sum = `SELECT sum(whole_usd) * 1000000000 + sum(rest_nano_usd) FROM ${view}`;
        assert.deepEqual(await readNano(purser, sum), [total], view);
      }
      const written = await readNano(purser, "SELECT cache_write_1h_tokens FROM calls ORDER BY step");
      assert.deepEqual(written.map(Number), fixture.rounds.map(({ usage }) => usage.cacheWrite1hTokens));

      const { body: costs } = await purser.api("GET", `/sessions/${result.session_id}/costs`);
      for (const [index, { usage, costNanoUsd }] of fixture.rounds.entries()) {
        const {
          call_id: _id,
          price_source,
          service_tier: _tier,
          response_id: _answer,
          upstream_id,
          ...call
        } = costs.calls[index];
        assert.match(upstream_id, /^ups_[0-9a-f]{13}$/);
        assert.deepEqual(call, {
          at: "2026-11-01T12:00:00.000Z",
          agent_id: "wired",
          session_id: result.session_id,
          run_id: result.run_id,
          step: index + 1,
          tools: index < fixture.rounds.length - 1 ? ["calculator"] : [],
          provider: fixture.provider,
          model: fixture.model,
          input_tokens: usage.inputTokens,
          output_tokens: usage.outputTokens,
          cache_read_tokens: usage.cacheReadTokens,
          cache_write_tokens: usage.cacheWriteTokens,
          reasoning_tokens: usage.reasoningTokens,
          total_tokens: usage.inputTokens + usage.outputTokens,
          cost_usd: usd(costNanoUsd),
          duration_ms: 0,
          estimated: false,
          source: "run",
        });
        assert.match(price_source, fixture.provider === "local" ? /^config$/ : /^genai-prices@/);
      }

      const usage = { ...expected, model: fixture.model };
      assert.deepEqual(result.token_usage, usage);
      assert.deepEqual((await purser.api("GET", `/runs/${result.run_id}`)).body.token_usage, usage);
      assert.deepEqual(costs.token_usage, usage);
      assert.deepEqual((await purser.api("GET", "/agents/wired")).body.token_usage, usage);
      const keys = {
        agent: { agent_id: "wired" },
        model: { provider: fixture.provider, model: fixture.model },
        day: { day: "2026-11-01" },
        hour: { hour: "2026-11-01T12:00:00.000Z" },
      };
      for (const [grouping, key] of Object.entries(keys)) {
        const { body } = await purser.api("GET", `/costs?group_by=${grouping}`);
        assert.deepEqual(body, [{ ...key, ...expected, estimated_calls: 0, lower_bound_calls: 0 }], grouping);
      }
    });
  }
}

const BARE = ["gpt-4o-mini", "claude-haiku-4-5", "gemini-2.5-flash"];

for (const model of BARE) {
  Deno.test(`the bare name ${model} reaches its provider and is booked under it`, async () => {
    const { answerTo } = await import("./harness/answers.ts");
    await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi" }));
    await using purser = await openTestPurser({ fake });
    const result = await purser.run({ model }, "Hello");
    assert.equal(fake.requests[0]!.model, model);
    assert.equal(result.token_usage.model, model);
    assert.equal(result.token_usage.unpriced_calls, 0);
    assert.ok(result.token_usage.cost_usd! > 0);
  });
}
