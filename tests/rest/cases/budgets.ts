import assert from "node:assert/strict";
import { EVENT } from "../../harness/bodies.ts";
import type { RestApi, RestCase } from "../rest_case.ts";

const BUDGETS = "/budgets";

/** A budget of this case's own agent, so that no other case is refused. */
const budgetOf = (api: RestApi, more: object = {}) => ({
  name: `Budget of ${api.prefix}`,
  limit_usd: 1,
  per: "day",
  agent_id: api.prefix,
  ...more,
});

const spend = (api: RestApi, id: string, cost_usd: number, more: object = {}) =>
  api.expect(201, "POST", "/costs/events", [{
    ...EVENT,
    call_id: `${api.prefix}:${id}`,
    agent_id: api.prefix,
    at: new Date().toISOString(),
    cost_usd,
    ...more,
  }]);

export const budgetCases: RestCase[] = [
  {
    name: "the counters of a budget of each session are listed, the one with the most spending first",
    async run(api) {
      const each = budgetOf(api, { each: "session" });
      const { budget_id, counter } = await api.expect(201, "POST", BUDGETS, each);
      assert.equal(counter, null);
      const sessions = ["a", "b", "c"].map((name) => `${api.prefix}:${name}`);
      for (const [index, session_id] of sessions.entries()) {
        await spend(api, session_id, (index + 1) / 4, { session_id });
      }
      const { body, headers } = await api.send("GET", `${BUDGETS}/${budget_id}/counters?limit=2`);
      const pick = (
        { kind, id, spent_usd, left_usd, state }: Record<string, unknown>,
      ) => [kind, id, spent_usd, left_usd, state];
      assert.deepEqual(body.map(pick), [
        ["session", sessions[2], 0.75, 0.25, "ok"],
        ["session", sessions[1], 0.5, 0.5, "ok"],
      ]);
      const next = /<([^>]+)>/.exec(headers.get("link")!)![1]!;
      const rest = await api.expect(200, "GET", next);
      assert.deepEqual(rest.map(pick), [["session", sessions[0], 0.25, 0.75, "ok"]]);
    },
  },
  {
    name: "the counters of a budget for each key have the names of the keys",
    async run(api) {
      const { key, key_id } = await api.expect(201, "POST", "/keys", { name: api.prefix, scopes: ["run"] });
      const headers = { authorization: `Bearer ${key}` };
      const call = {
        ...EVENT,
        call_id: `${api.prefix}:k`,
        agent_id: api.prefix,
        at: new Date().toISOString(),
      };
      await api.expect(201, "POST", "/costs/events", [{ ...call, cost_usd: 0.25 }], headers);
      const budget = { name: api.prefix, limit_usd: 1_000, per: "day", each: "key", action: "watch" };
      const { budget_id } = await api.expect(201, "POST", BUDGETS, budget);
      const counters = await api.expect(200, "GET", `${BUDGETS}/${budget_id}/counters?limit=1000`);
      const { kind, key_name, spent_usd, left_usd } = counters.find(({ id }: { id: string }) =>
        id === key_id
      );
      assert.deepEqual([kind, key_name, spent_usd, left_usd], ["key", api.prefix, 0.25, 999.75]);
      await api.expect(204, "DELETE", `${BUDGETS}/${budget_id}`);
    },
  },
  {
    name: "refused calls are listed with the budgets that refused them, by agent and by budget",
    async run(api) {
      await api.expect(201, "PUT", `/agents/${api.prefix}`, { model: "demo:echo" });
      const budget = await api.expect(201, "POST", BUDGETS, budgetOf(api, { limit_usd: 0.5 }));
      await spend(api, "1", 0.6);
      const refused = await api.send("POST", `/agents/${api.prefix}/runs`, { input: "Hi" });
      assert.equal(refused.status, 402);
      const list = await api.expect(200, "GET", `${BUDGETS}/refusals?agent_id=${api.prefix}`);
      const [{ event_id: _id, at: _at, key_id, ...refusal }] = list;
      const names = await api.expect(200, "GET", "/key-names?limit=1000");
      const { name: key_name } = names.find((key: { key_id: string }) => key.key_id === key_id);
      assert.deepEqual(refusal, {
        agent_id: api.prefix,
        session_id: refused.body.session_id,
        run_id: refused.body.run_id,
        ...{ key_name, provider: "demo", model: "echo", nearest_model: null, reason: "spent" },
        message: refused.body.detail,
        cost_usd_so_far: 0.6,
        budget_usd: 0.5,
        refused_by: refused.body.details.refused_by,
      });
      await api.send("POST", `/agents/${api.prefix}/runs`, { input: "Again" });
      const filters = [
        `session_id=${refusal.session_id}`,
        "model=demo:echo",
        "reason=spent",
        `key_id=${key_id}`,
      ];
      const filtered = `${BUDGETS}/refusals?agent_id=${api.prefix}&${filters.join("&")}`;
      assert.deepEqual(await api.expect(200, "GET", filtered), list);
      assert.deepEqual(await api.expect(200, "GET", `${filtered}&to=2020-01-01`), []);
      const path = `${BUDGETS}/refusals?budget_id=${budget.budget_id}&limit=1`;
      const { body: [newest], headers } = await api.send("GET", path);
      const next = /<([^>]+)>/.exec(headers.get("link")!)![1]!;
      assert.deepEqual(await api.expect(200, "GET", next), list);
      assert.ok(newest.event_id > list[0].event_id);
      assert.deepEqual(await api.expect(200, "GET", `${BUDGETS}/refusals?budget_id=bud_none`), []);
    },
  },
  {
    name: "a budget says its pace, and when it is reached at it",
    async run(api) {
      await spend(api, "1", 0.25);
      const budget = await api.expect(
        201,
        "POST",
        BUDGETS,
        budgetOf(api, { per: "lifetime", limit_usd: 0.5 }),
      );
      assert.ok(budget.usd_per_hour > 0 && budget.usd_per_hour < 0.25);
      assert.ok(Date.parse(budget.reaches_at) > Date.now());
      const run = await api.expect(201, "POST", BUDGETS, budgetOf(api, { per: "run" }));
      assert.deepEqual([run.usd_per_hour, run.reaches_at], [null, null]);
    },
  },
  {
    name: "a budget is added, read, listed, checked, changed, raised and removed",
    async run(api) {
      const { status, headers, body: budget } = await api.send("POST", BUDGETS, budgetOf(api));
      assert.equal(status, 201);
      const path = `${BUDGETS}/${budget.budget_id}`;
      assert.equal(headers.get("location"), path);
      assert.deepEqual([budget.mode, budget.warn_at, budget.state], ["stop", [0.8, 1], "ok"]);
      await spend(api, "1", 0.9);
      const read = await api.expect(200, "GET", path);
      assert.deepEqual([read.spent_usd, read.left_usd, read.state], [0.9, 0.1, "near"]);
      const listed = await api.expect(200, "GET", `${BUDGETS}?name=${encodeURIComponent(budget.name)}`);
      // The pace is that of the moment.
      const { usd_per_hour, reaches_at } = listed[0];
      assert.deepEqual(listed, [{ ...read, usd_per_hour, reaches_at }]);
      const raise = await api.expect(201, "POST", `${path}/raises`, { extra_usd: 0.5, reason: "case" });
      assert.deepEqual(await api.expect(200, "GET", `${path}/raises`), [raise]);
      const checks = await api.expect(200, "GET", `${BUDGETS}/check?agent_id=${api.prefix}`);
      assert.deepEqual(
        checks.map(({ budget_id, left_usd }: Record<string, unknown>) => [budget_id, left_usd]),
        [
          [budget.budget_id, 0.6],
        ],
      );
      const changed = await api.expect(200, "PATCH", path, { limit_usd: 0.25, mode: "strict" });
      assert.deepEqual([changed.limit_usd, changed.extra_usd, changed.state], [0.25, 0.5, "reached"]);
      await api.expect(204, "DELETE", path);
      await api.refused(404, "not_found", "GET", path);
      await api.refused(404, "not_found", "POST", `${path}/raises`, { extra_usd: 1 });
    },
  },
  {
    name:
      "what a strict budget holds for a call without a count is listed with it, and released with a reason",
    async run(api) {
      const budget = budgetOf(api, { mode: "strict", per: "lifetime" });
      const path = `${BUDGETS}/${(await api.expect(201, "POST", BUDGETS, budget)).budget_id}`;
      api.fake.enqueue({ text: '{"choices":[{"message":{"role":"assistant","content":"Hello"}}]}' });
      const response = await api.fetch("POST", "/v1/chat/completions", {
        isUndeclared: true,
        headers: { "x-purser-agent": api.prefix },
        body: {
          model: "gpt-4o-mini",
          max_completion_tokens: 100,
          messages: [{ role: "user", content: "Hi" }],
        },
      });
      assert.equal(response.status, 200, await response.text());
      const held = await api.expect(200, "GET", path);
      const [hold] = held.holds;
      assert.deepEqual([held.holds.length, hold.reason, hold.agent_id], [1, "uncounted", api.prefix]);
      assert.ok(hold.held_usd > 0);
      assert.deepEqual([held.held_usd, held.reserved_usd], [hold.held_usd, hold.held_usd]);
      await api.refused(400, "invalid", "POST", `${path}/releases`, {});
      const other = { reservation_id: "inst_1/req_1", reason: "case" };
      await api.refused(409, "conflict", "POST", `${path}/releases`, other);
      const release = await api.expect(201, "POST", `${path}/releases`, { reason: "case" });
      assert.deepEqual([release.reservation_ids, release.released_usd, release.reason], [
        [hold.reservation_id],
        hold.held_usd,
        "case",
      ]);
      assert.deepEqual(await api.expect(200, "GET", `${path}/releases`), [release]);
      const after = await api.expect(200, "GET", path);
      assert.deepEqual([after.holds, after.held_usd, after.reserved_usd], [[], 0, 0]);
      await api.refused(409, "conflict", "POST", `${path}/releases`, { reason: "again" });
      await api.expect(204, "DELETE", path);
    },
  },
  {
    name: "an invalid budget is refused, with the path of each fault",
    async run(api) {
      const wrong = budgetOf(api, { limit_usd: -1, per: "year", mode: "hard", odd: 1 });
      const { details } = await api.refused(400, "invalid", "POST", BUDGETS, wrong);
      assert.deepEqual(details.issues.map((issue: { path: string }) => issue.path), [
        "limit_usd",
        "per",
        "mode",
        "odd",
      ]);
      await api.refused(400, "invalid", "POST", BUDGETS, budgetOf(api, { key_id: "key_1" }));
    },
  },
  {
    name: "a run is refused once a budget of its agent is reached, until the budget is raised",
    async run(api) {
      await api.expect(201, "PUT", `/agents/${api.prefix}`, { model: "demo:echo" });
      const { budget_id } = await api.expect(201, "POST", BUDGETS, budgetOf(api));
      const run = () => api.send("POST", `/agents/${api.prefix}/runs`, { input: "Hi" });
      assert.equal((await run()).status, 200);
      await spend(api, "1", 1);
      const refused = await run();
      assert.deepEqual([refused.status, refused.body.code], [402, "budget_exceeded"]);
      const [by] = refused.body.details.refused_by;
      assert.deepEqual([by.budget_id, by.reason, by.limit_usd], [budget_id, "spent", 1]);
      assert.ok(by.spent_usd >= 1 && by.reserved_usd === 0);
      assert.equal((await api.expect(200, "GET", `${BUDGETS}/${budget_id}`)).refused_calls, 1);
      await api.expect(201, "POST", `${BUDGETS}/${budget_id}/raises`, { extra_usd: 1 });
      assert.equal((await run()).status, 200);
      await api.expect(204, "DELETE", `${BUDGETS}/${budget_id}`);
    },
  },
  {
    name: "a reservation holds a strict budget for a call elsewhere, until it is reported or released",
    async run(api) {
      const { budget_id } = await api.expect(201, "POST", BUDGETS, budgetOf(api, { mode: "strict" }));
      const amounts = async () => {
        const { spent_usd, reserved_usd } = await api.expect(200, "GET", `${BUDGETS}/${budget_id}`);
        return [spent_usd, reserved_usd];
      };
      const reserve = (worst_case_usd: number) =>
        api.send("POST", `${BUDGETS}/reservations`, { agent_id: api.prefix, worst_case_usd });
      const first = await reserve(0.6);
      assert.equal(first.status, 201);
      assert.deepEqual(await amounts(), [0, 0.6]);
      const refused = await reserve(0.6);
      assert.deepEqual([refused.status, refused.body.details.refused_by[0].needed_usd], [402, 0.6]);
      await spend(api, "1", 0.2, { reservation_id: first.body.reservation_id });
      assert.deepEqual(await amounts(), [0.2, 0]);
      const second = await reserve(0.8);
      const path = second.headers.get("location")!;
      assert.deepEqual(await amounts(), [0.2, 0.8]);
      await api.expect(204, "DELETE", path);
      assert.deepEqual(await amounts(), [0.2, 0]);
      await api.refused(404, "not_found", "DELETE", path);
      await api.expect(204, "DELETE", `${BUDGETS}/${budget_id}`);
    },
  },
  {
    name: "a budget that asks has one ticket, which another key than the caller's approves or denies once",
    async run(api) {
      const { budget_id } = await api.expect(
        201,
        "POST",
        BUDGETS,
        budgetOf(api, { limit_usd: 0, action: "ask" }),
      );
      const { key } = await api.expect(201, "POST", "/keys", { name: api.prefix, scopes: ["run"] });
      const reserve = (estimate_usd = 0.5) =>
        api.send(
          "POST",
          `${BUDGETS}/reservations`,
          { agent_id: api.prefix, estimate_usd },
          { authorization: `Bearer ${key}` },
        );
      const { status, body: { details } } = await reserve();
      assert.equal(status, 402);
      assert.equal((await reserve()).body.details.ticket_id, details.ticket_id);
      const path = `/approvals/${details.ticket_id}`;
      const ticket = await api.expect(200, "GET", path);
      assert.deepEqual([ticket.state, ticket.asked_usd, ticket.cost_usd], ["waiting", 0.5, 0.5]);
      await api.refused(400, "invalid", "POST", `${path}/approve`, { extra_usd: 1e-10, reason: "x" });
      await api.refused(400, "invalid", "POST", `${path}/deny`, {});
      const approved = await api.expect(200, "POST", `${path}/approve`, { extra_usd: 2, reason: "release" });
      assert.equal(approved.state, "approved");
      assert.equal((await reserve()).status, 201);
      await api.refused(409, "conflict", "POST", `${path}/approve`, { reason: "again" });
      await api.refused(409, "conflict", "POST", `${path}/deny`, { reason: "again" });
      const other = `${BUDGETS}/${
        (await api.expect(201, "POST", BUDGETS, budgetOf(api, { limit_usd: 0, action: "ask" }))).budget_id
      }`;
      const { body: { details: { ticket_id } } } = await reserve();
      await api.expect(200, "POST", `/approvals/${ticket_id}/deny`, { reason: "no" });
      assert.equal((await reserve()).body.details.refused_by[0].ticket_state, "denied");
      const listed = await api.expect(200, "GET", "/approvals?state=denied&limit=1000");
      assert.ok(listed.some((each: { ticket_id: string }) => each.ticket_id === ticket_id));
      await api.refused(404, "not_found", "GET", "/approvals/tkt_nothing");
      for (const place of [other, `${BUDGETS}/${budget_id}`]) await api.expect(204, "DELETE", place);
    },
  },
];
