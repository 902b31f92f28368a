import assert from "node:assert/strict";
import { EVENT } from "../../harness/bodies.ts";
import type { RestApi, RestCase } from "../rest_case.ts";

const report = (api: RestApi, id: string, more: object = {}) => ({
  ...EVENT,
  call_id: `${api.prefix}:${id}`,
  agent_id: api.prefix,
  at: new Date().toISOString(),
  ...more,
});

export const costCases: RestCase[] = [
  {
    name: "calls made elsewhere are booked once, priced here or at their own cost",
    async run(api) {
      const first = report(api, "1");
      const second = report(api, "2", { cost_usd: 0.00000000050001 });
      assert.deepEqual(await api.expect(201, "POST", "/costs/events", [first, second, first]), {
        booked: 2,
        duplicates: 1,
        unpriced: 0,
      });
      assert.deepEqual(await api.expect(201, "POST", "/costs/events", [first]), {
        booked: 0,
        duplicates: 1,
        unpriced: 0,
      });
      const [row] = await api.expect(200, "GET", `/costs?agent_id=${api.prefix}`);
      assert.deepEqual([row.model_calls, row.cost_usd], [2, 0.000150601]);
    },
  },
  {
    name: "a report that conflicts with booked calls books nothing: 409",
    async run(api) {
      const first = report(api, "1");
      await api.expect(201, "POST", "/costs/events", [first]);
      const { details } = await api.refused(409, "conflict", "POST", "/costs/events", [
        report(api, "2"),
        { ...first, output_tokens: 2 },
      ]);
      assert.equal(details.call_id, first.call_id);
      assert.equal((await api.expect(200, "GET", `/costs?agent_id=${api.prefix}`))[0].model_calls, 1);
    },
  },
  {
    name: "a call without a known price costs null, never 0, and is counted",
    async run(api) {
      const ids = { session_id: `${api.prefix}:s`, run_id: `${api.prefix}:r` };
      const body = [report(api, "1", { ...ids, model: "unknown-model" })];
      assert.equal((await api.expect(201, "POST", "/costs/events", body)).unpriced, 1);
      const costs = await api.expect(200, "GET", `/sessions/${api.prefix}:s/costs`);
      assert.equal(costs.calls[0].cost_usd, null);
      assert.deepEqual([costs.token_usage.cost_usd, costs.token_usage.unpriced_calls], [null, 1]);
    },
  },
  {
    name: "costs are grouped by every dimension, and filtered by time, agent and model",
    async run(api) {
      const now = Date.now();
      const at = (hoursAgo: number) => new Date(now - hoursAgo * 3_600_000).toISOString();
      const ids = { session_id: `${api.prefix}:s`, run_id: `${api.prefix}:r` };
      const calls = [49, 25, 1].map((hours) => report(api, String(hours), { ...ids, at: at(hours) }));
      await api.expect(201, "POST", "/costs/events", calls);
      const ask = (query: string) => api.expect(200, "GET", `/costs?agent_id=${api.prefix}&${query}`);
      for (
        const [group, value] of Object.entries({
          agent: api.prefix,
          session: `${api.prefix}:s`,
          run: `${api.prefix}:r`,
          model: "gpt-4o-mini",
        })
      ) {
        const rows = await ask(`group_by=${group}`);
        const key = group === "model" ? "model" : `${group}_id`;
        assert.deepEqual([rows.length, rows[0][key], rows[0].model_calls], [1, value, 3], group);
      }
      assert.equal((await ask("group_by=day")).length, 3);
      assert.equal((await ask("group_by=hour&limit=2")).length, 2);
      assert.equal((await ask(`from=${at(26)}&to=${at(2)}`))[0].model_calls, 1);
      assert.deepEqual(await ask("model=another"), []);
      await api.refused(400, "invalid", "GET", "/costs?group_by=moon");
      await api.refused(400, "invalid", "GET", `/costs?from=${at(1)}&to=${at(2)}`);
    },
  },
  {
    name: "an invalid report is refused, with the path of the fault",
    async run(api) {
      const problem = await api.refused(400, "invalid", "POST", "/costs/events", [
        report(api, "1"),
        report(api, "2", { input_tokens: -1 }),
      ]);
      assert.equal(problem.details.issues[0].path, "[1].input_tokens");
      const ahead = new Date(Date.now() + 600_000).toISOString();
      await api.refused(400, "invalid", "POST", "/costs/events", [report(api, "3", { at: ahead })]);
    },
  },
];
