import assert from "node:assert/strict";
import type { RestCase } from "../rest_case.ts";

export const planCases: RestCase[] = [
  {
    name: "the windows of a plan are reported in any order, and listed with what is known of them",
    async run(api) {
      const own = { agent_id: api.prefix, source: "log", machine: "laptop" };
      const report = (...windows: object[]) => api.expect(204, "POST", "/plans", { ...own, windows });
      const window = {
        window: "seven_day",
        length_minutes: 10_080,
        resets_at: "2026-10-24T00:00:00Z",
        measured_at: "2026-10-21T09:30:00Z",
      };
      await report({ ...window, used_pct: 40.25, plan: "plus", status: "allowed" });
      await report({ ...window, used_pct: 90, measured_at: "2026-10-21T09:29:59Z" });
      await report({ window: "credits", measured_at: "2026-10-21T09:30:00Z", credits: { balance: "12.50" } });
      await report();
      const all = await api.expect(200, "GET", "/plans?limit=1000");
      const [week, credits, ...others] = all.filter((each: { agent_id: string }) =>
        each.agent_id === api.prefix
      );
      assert.deepEqual(others, []);
      const { elapsed_pct: _, pace: __, runs_out_at: ___, state: ____, key_id, ...rest } = week;
      assert.ok(key_id === null || typeof key_id === "string");
      const unknown = {
        provider: null,
        account: null,
        models: null,
        plan_usd: null,
        price_usd_per_month: null,
      };
      assert.deepEqual(rest, {
        agent_id: api.prefix,
        source: "log",
        machine: "laptop",
        machines: ["laptop"],
        ...unknown,
        plan: "plus",
        window: "seven_day",
        used_pct: 40.25,
        status: "allowed",
        starts_at: "2026-10-17T00:00:00.000Z",
        resets_at: "2026-10-24T00:00:00.000Z",
        measured_at: "2026-10-21T09:30:00.000Z",
        credits: null,
      });
      assert.deepEqual(credits, {
        agent_id: api.prefix,
        source: "log",
        machine: "laptop",
        machines: ["laptop"],
        ...unknown,
        key_id,
        plan: null,
        window: "credits",
        used_pct: null,
        state: "open",
        status: null,
        starts_at: null,
        resets_at: null,
        elapsed_pct: null,
        pace: null,
        runs_out_at: null,
        measured_at: "2026-10-21T09:30:00.000Z",
        credits: { balance: "12.50" },
      });
      for (
        const bad of [{ window: "a b" }, { window: "x", used_pct: -1 }, { window: "x", resets_at: "soon" }]
      ) {
        await api.refused(400, "invalid", "POST", "/plans", { ...own, windows: [bad] });
      }
      await api.refused(400, "invalid", "POST", "/plans", { ...own, source: "gateway", windows: [] });
    },
  },
];
