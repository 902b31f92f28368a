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
    name: "what a log has seen of calls is booked once, and completed later",
    async run(api) {
      const origin = { source: "log", name: `${api.prefix}.agent`, machine: "laptop", agent_id: api.prefix };
      const early = {
        ref: "msg_1",
        provider: "openai",
        model: "gpt-6-luna",
        at: new Date().toISOString(),
        input_tokens: 1000,
        output_tokens: 5,
        quality: "provisional",
        session: "first session",
        folder: "/home/ann/shop",
      };
      const { quality: _, ...rest } = early;
      const final = { ...rest, output_tokens: 631 };
      const send = (sightings: object[]) => api.expect(200, "POST", "/sightings", { origin, sightings });
      assert.deepEqual(
        (await send([early, { ...early, ref: "ahead", at: "2199-01-01T00:00:00Z" }])).outcomes,
        [
          "booked",
          "refused",
        ],
      );
      assert.deepEqual((await send([final])).outcomes, ["amended"]);
      assert.deepEqual((await send([final, early])).outcomes, ["duplicate", "duplicate"]);
      const [row] = await api.expect(200, "GET", `/costs?agent_id=${api.prefix}&group_by=tag:project`);
      assert.deepEqual([row.tag_value, row.model_calls, row.output_tokens, row.estimated_calls], [
        "shop",
        1,
        631,
        0,
      ]);
      await api.refused(400, "invalid", "POST", "/sightings", { origin, sightings: [{ ref: "x" }] });
    },
  },
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
        { ...first, input_tokens: 1 },
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
    name: "costs are split, sorted, compared with another span, and summed over all groups",
    async run(api) {
      const calls = [["1", 1, "gpt-4o", 3], ["2", 1, "gpt-4o-mini", 1], ["3", 3, "gpt-4o", 2]] as const;
      const at = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString();
      await api.expect(
        201,
        "POST",
        "/costs/events",
        calls.map(([id, days, model, cost_usd]) =>
          report(api, id, { at: at(days), model, cost_usd, run_id: `${api.prefix}:r${id}` })
        ),
      );
      const own = `agent_id=${api.prefix}`;
      const ask = (query: string) => api.expect(200, "GET", `/costs?${own}&${query}`);
      const models = await ask("group_by=provider&split_by=model");
      assert.deepEqual(
        models.map(({ provider, model, cost_usd }: Record<string, unknown>) => [provider, model, cost_usd]),
        [["openai", "gpt-4o", 5], ["openai", "gpt-4o-mini", 1]],
      );
      const runs = await ask("group_by=run&sort=cost&limit=2");
      assert.deepEqual(runs.map(({ cost_usd }: { cost_usd: number }) => cost_usd), [3, 2]);
      const spans = `from=${at(2)}&to=${at(0)}&compare_from=${at(4)}`;
      const [row] = await ask(`group_by=model&${spans}&model=openai:gpt-4o`);
      assert.deepEqual([row.cost_usd, row.previous.cost_usd, row.difference_usd], [3, 2, 1]);
      const total = await api.expect(200, "GET", `/costs/total?${own}&${spans}`);
      assert.deepEqual(
        [total.model_calls, total.cost_usd, total.previous.model_calls, total.difference_usd],
        [2, 4, 1, 2],
      );
      assert.equal((await api.expect(200, "GET", `/costs/total?${own}`)).cost_usd, 6);
      assert.equal((await api.expect(200, "GET", "/costs/summary")).session, undefined);
      const forecast = await api.expect(200, "GET", `/costs/forecast?${own}`);
      assert.ok(forecast.forecast_usd === null || forecast.forecast_usd >= forecast.cost_usd);
      assert.ok(forecast.low_usd === null || forecast.low_usd <= forecast.high_usd);
      for (
        const query of [
          "group_by=run&split_by=model",
          "group_by=model&split_by=provider",
          "group_by=agent&split_by=agent",
          "group_by=agent&sort=time",
          "compare_from=2026-01-01",
          "compare_to=2026-01-01&from=2026-02-01",
          "from=2026-02-01&compare_from=2026-03-01",
          "group_by=day&from=2026-02-01&compare_from=2026-01-01",
        ]
      ) await api.refused(400, "invalid", "GET", `/costs?${query}`);
    },
  },
  {
    name: "costs are CSV for a client that accepts it, with exact amounts and no formula",
    async run(api) {
      await api.expect(201, "POST", "/costs/events", [
        report(api, "1", { provider: "=HYPERLINK(1)", model: 'a,"b"', cost_usd: 1e-9 }),
        report(api, "2", { provider: "none", model: "m" }),
      ]);
      const path = `/costs?agent_id=${api.prefix}&group_by=model&limit=2`;
      const answer = await api.fetch("GET", path, { headers: { accept: "text/csv" } });
      assert.equal(answer.headers.get("content-type"), "text/csv; charset=utf-8");
      assert.match(answer.headers.get("link") ?? "", /rel="next"/);
      const { input_tokens: input, output_tokens: output } = EVENT;
      assert.equal(
        await answer.text(),
        "provider,model,model_calls,unpriced_calls,partly_priced_calls,estimated_calls,input_tokens,output_tokens," +
          "cache_read_tokens,cache_write_tokens,reasoning_tokens,total_tokens,cost_usd,lower_bound_calls\r\n" +
          `'=HYPERLINK(1),"a,""b""",1,0,0,0,${input},${output},0,0,0,${input + output},0.000000001,0\r\n` +
          `none,m,1,1,0,0,${input},${output},0,0,0,${input + output},,0\r\n`,
      );
    },
  },
  {
    name: "costs are grouped, split and filtered by API key, and calls without one have a row",
    async run(api) {
      await api.expect(201, "POST", "/costs/events", [report(api, "1", { cost_usd: 1 })]);
      const own = `agent_id=${api.prefix}`;
      const [row] = await api.expect(200, "GET", `/costs?${own}&group_by=key`);
      assert.deepEqual([typeof row.key_id, row.cost_usd, row.estimated_calls], ["string", 1, 0]);
      const [split] = await api.expect(200, "GET", `/costs?${own}&group_by=day&split_by=key`);
      assert.deepEqual([split.day.length, split.key_id], [10, row.key_id]);
      assert.equal((await api.expect(200, "GET", `/costs/total?${own}&key_id=${row.key_id}`)).cost_usd, 1);
      // By its name too; an unknown one is refused, and not summed to 0.
      const name = encodeURIComponent(row.key_name);
      assert.equal((await api.expect(200, "GET", `/costs/total?${own}&key_id=${name}`)).cost_usd, 1);
      await api.refused(400, "invalid", "GET", `/costs/total?${own}&key_id=none`);
      await api.refused(400, "invalid", "GET", "/costs?group_by=key&split_by=key");
    },
  },
  {
    name: "the savings of prompt caches are estimated by model and agent",
    async run(api) {
      const usage = { input_tokens: 1_000_000, cache_read_tokens: 600_000, output_tokens: 0 };
      await api.expect(201, "POST", "/costs/events", [
        report(api, "1", usage),
        report(api, "2", { ...usage, model: "unknown-model" }),
      ]);
      const ask = (query: string) => api.expect(200, "GET", `/costs/caching?agent_id=${api.prefix}&${query}`);
      const all = await ask("group_by=model");
      assert.deepEqual([all.input_tokens, all.cache_read_tokens, all.hit_rate], [2_000_000, 1_200_000, 0.6]);
      // gpt-4o-mini: 0.15 a million, 0.075 from the cache.
      assert.deepEqual([all.saved_usd, all.possible_usd], [0.045, 0.03]);
      assert.deepEqual(all.rows.map(({ saved_usd }: { saved_usd: number }) => saved_usd).sort(), [
        0.045,
        null,
      ]);
      const [agent] = (await ask("group_by=agent")).rows;
      assert.deepEqual([agent.agent_id, agent.saved_usd], [api.prefix, 0.045]);
      assert.deepEqual((await ask("model=none")).rows, []);
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
  {
    name: "a call is explained by its rates, and a call of another agent is not found",
    async run(api) {
      const call = report(api, "1");
      const unpriced = report(api, "a call/2?", { model: "unknown-model" });
      await api.expect(201, "POST", "/costs/events", [call, unpriced]);
      const explained = await api.expect(200, "GET", `/costs/calls/${encodeURIComponent(call.call_id)}`);
      assert.equal(explained.call.call_id, call.call_id);
      assert.deepEqual([explained.booked.basis, explained.booked.difference_usd], ["rates", 0]);
      assert.equal(explained.booked.computed_usd, explained.call.cost_usd);
      assert.deepEqual(
        explained.booked.lines.map((line: { part: string; quantity: number }) => [line.part, line.quantity]),
        [["input_tokens", call.input_tokens], ["output_tokens", call.output_tokens]],
      );
      const other = await api.expect(200, "GET", `/costs/calls/${encodeURIComponent(unpriced.call_id)}`);
      assert.deepEqual([other.booked.basis, other.booked.lines, other.call.cost_usd], ["none", [], null]);
      await api.refused(404, "not_found", "GET", "/costs/calls/nope");
    },
  },
  {
    name: "the same usage is priced on another model, with notes on what that leaves out",
    async run(api) {
      await api.expect(201, "POST", "/costs/events", [
        report(api, "1", { cost_usd: 1, input_tokens: 1_000_000, output_tokens: 0 }),
        report(api, "2", { model: "unknown-model", input_tokens: 1_000_000, output_tokens: 1_000_000 }),
      ]);
      const answer = await api.expect(
        200,
        "GET",
        `/costs/what-if?model=demo:echo&agent_id=${api.prefix}&group_by=agent`,
      );
      assert.equal(answer.price_source, "demo");
      assert.deepEqual([answer.rows[0].cost_usd, answer.rows[0].what_if_cost_usd], [1, 6]);
      assert.ok(answer.notes.some((note: string) => /without a known price/.test(note)), answer.notes);
      await api.refused(400, "invalid", "GET", "/costs/what-if?model=echo");
      await api.refused(400, "invalid", "GET", "/costs/what-if?model=openai:unknown-model");
      await api.refused(400, "invalid", "GET", "/costs/what-if");
    },
  },
  {
    name: "a repricing is planned, booked as adjustments, listed and undone",
    async run(api) {
      const stated = report(api, "1", { cost_usd: 1, session_id: `${api.prefix}:s` });
      await api.expect(201, "POST", "/costs/events", [
        stated,
        report(api, "2", { session_id: `${api.prefix}:s` }),
      ]);
      const filter = {
        from: "2026-01-01",
        to: "2100-01-01",
        agent_id: api.prefix,
        include_reported: true,
      };
      const total = async () => (await api.expect(200, "GET", `/costs?agent_id=${api.prefix}`))[0].cost_usd;
      const before = await total();
      const planned = await api.expect(200, "POST", "/repricings", filter);
      assert.deepEqual([planned.status, planned.repricing_id], ["dry_run", null]);
      assert.deepEqual([planned.calls, planned.changed_calls], [2, 1]);
      assert.equal(await total(), before);
      const applied = await api.expect(200, "POST", "/repricings", { ...filter, apply: true });
      const { cost_usd_after } = planned;
      assert.deepEqual([applied.status, applied.cost_usd_after, await total()], [
        "applied",
        cost_usd_after,
        cost_usd_after,
      ]);
      const costs = await api.expect(200, "GET", `/sessions/${api.prefix}:s/costs`);
      assert.equal(costs.calls[0].cost_usd, costs.calls[1].cost_usd);
      // The call as it is listed now can be reported back, and so can the one that was booked.
      const { duplicates } = await api.expect(201, "POST", "/costs/events", [stated]);
      assert.equal(duplicates, 1);
      assert.equal((await api.expect(201, "POST", "/costs/events", costs.calls)).duplicates, 2);
      const path = `/repricings/${applied.repricing_id}`;
      assert.deepEqual(await api.expect(200, "POST", `${path}/apply`), applied);
      assert.equal((await api.expect(200, "POST", `${path}/undo`)).status, "undone");
      assert.equal(await total(), before);
      assert.equal((await api.expect(200, "GET", path)).undone_at !== null, true);
      assert.equal(
        (await api.expect(200, "GET", "/repricings?limit=1"))[0].repricing_id,
        applied.repricing_id,
      );
      await api.refused(409, "conflict", "POST", `${path}/apply`);
      await api.refused(404, "not_found", "POST", "/repricings/rep_nope/undo");
      await api.refused(400, "invalid", "POST", "/repricings", {});
      await api.refused(400, "invalid", "POST", "/repricings", { from: "2026-02-01", to: "2026-01-01" });
    },
  },
];
