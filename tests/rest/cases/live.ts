import assert from "node:assert/strict";
import { answerTo } from "../../harness/answers.ts";
import { EVENT } from "../../harness/bodies.ts";
import { readSse, type SseFrame, type SseReader } from "../../harness/sse_reader.ts";
import type { RestApi, RestCase } from "../rest_case.ts";

const report = (api: RestApi, id: string, more: object = {}) =>
  api.expect(201, "POST", "/costs/events", [{
    ...EVENT,
    call_id: `${api.prefix}:${id}`,
    agent_id: api.prefix,
    at: new Date().toISOString(),
    ...more,
  }]);

/** Reads messages until one of them fulfils a condition. */
async function readUntil(stream: SseReader, holds: (frame: SseFrame) => boolean): Promise<SseFrame> {
  for (;;) {
    const frame = await stream.next();
    assert.ok(frame, "the stream ended");
    if (frame.comment === undefined && holds(frame)) return frame;
  }
}

// deno-lint-ignore no-explicit-any -- entries of the overview, as parsed
type Entry = any;

export const liveCases: RestCase[] = [
  {
    name:
      "the overview has today's spending by agent and minute, runs in progress, refusals, alerts, budgets and rules",
    async run(api) {
      await api.expect(201, "PUT", `/agents/${api.prefix}`, {
        model: "local:my-model",
        cost_budget_usd: 0.001,
      });
      const budget = await api.expect(201, "POST", "/budgets", {
        name: api.prefix,
        limit_usd: 5,
        per: "day",
        agent_id: api.prefix,
      });
      const rule = await api.expect(201, "POST", "/alerts/rules", {
        name: api.prefix,
        threshold_type: "per_day_usd",
        threshold_usd: 6,
        severity: "info",
        agent_id: api.prefix,
      });
      await report(api, "1", { cost_usd: 3 });
      const going = Promise.withResolvers<void>();
      const calls = api.fake.calls;
      api.fake.enqueue({
        after: going.promise,
        ...answerTo({ api: "openai-chat", model: "my-model" }, { text: "At last" }),
      });
      const run = api.expect(200, "POST", `/agents/${api.prefix}/runs`, { input: "Hi" });
      await api.until(() => Promise.resolve(api.fake.calls), (now) => now > calls);
      const state = await api.until(
        () => api.expect(200, "GET", "/live?once=true"),
        ({ runs }) => runs.some((each: Entry) => each.agent_id === api.prefix),
      );
      going.resolve();
      const agent = state.agents.find((each: Entry) => each.agent_id === api.prefix);
      assert.deepEqual([agent.cost_usd, agent.model_calls, agent.minutes.length], [3, 1, 60]);
      assert.equal(Math.max(...agent.minutes), 3);
      const { coverage } = state;
      assert.ok(coverage.model_calls >= 1 && coverage.unpriced_calls <= coverage.model_calls);
      assert.deepEqual([agent.unpriced_calls, agent.partly_priced_calls, agent.estimated_calls], [0, 0, 0]);
      assert.ok(agent.usd_per_minute > 0 && state.spend.cost_usd >= 3 && state.running >= 1);
      const inProgress = state.runs.find((each: Entry) => each.agent_id === api.prefix);
      assert.deepEqual([inProgress.status, inProgress.ended_at, inProgress.output], [
        "running",
        null,
        undefined,
      ]);
      const own = state.budgets.find((each: Entry) => each.budget_id === budget.budget_id);
      assert.deepEqual([own.spent_usd, own.state], [3, "ok"]);
      const ownRule = state.rules.find((each: Entry) => each.rule_id === rule.rule_id);
      assert.deepEqual([ownRule.value_usd, ownRule.threshold_usd], [3, 6]);
      assert.equal((await run).run_id, inProgress.run_id);
    },
  },
  {
    name: "the overview is streamed: the whole first, then what has changed",
    async run(api) {
      const leaving = new AbortController();
      const response = await api.fetch("GET", "/live", {
        headers: { "last-event-id": "7" },
        signal: leaving.signal,
      });
      assert.match(response.headers.get("content-type")!, /^text\/event-stream/);
      const stream = readSse(response);
      const first = await stream.next();
      assert.equal(first!.event, "state");
      assert.ok(Array.isArray(first!.data.budgets));
      await report(api, "1", { cost_usd: 0.25 });
      const isOwn = (each: Entry) => each.agent_id === api.prefix;
      const delta = await readUntil(stream, ({ data }) => data.agents?.some(isOwn));
      assert.equal(delta.event, "delta");
      assert.equal(delta.data.agents.find(isOwn).cost_usd, 0.25);
      assert.ok(delta.data.spend.cost_usd >= 0.25 && Number(delta.id) > Number(first!.id));
      leaving.abort();
    },
  },
  {
    name: "the overview takes no other query",
    async run(api) {
      await api.refused(400, "invalid", "GET", "/live?once=maybe");
      await api.refused(400, "invalid", "GET", "/live?agent_id=x");
    },
  },
];
