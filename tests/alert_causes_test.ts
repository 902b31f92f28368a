import assert from "node:assert/strict";
import { rollUpTotals } from "../src/ledger/mod.ts";
import { EVENT } from "./harness/bodies.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** The spending that moved an alert, for each kind of window and counter. */

/** Books calls of two agents in several sessions and runs, some of them before the window. */
async function spend(purser: TestPurser): Promise<void> {
  const at = new Date(purser.clock.now()).toISOString();
  const calls = [
    { call_id: "old", agent_id: "ann", session_id: "s1", at: "2026-10-01T00:00:00.000Z", cost_usd: 50 },
    { call_id: "1", agent_id: "ann", session_id: "s1", run_id: "r1", at, cost_usd: 3 },
    { call_id: "2", agent_id: "ann", session_id: "s1", run_id: "r2", at, cost_usd: 1 },
    { call_id: "3", agent_id: "bob", session_id: "s2", at, cost_usd: 5, model: "gpt-4o" },
    { call_id: "4", agent_id: "ann", at, cost_usd: 0.5, run_id: "r3" },
  ];
  for (const call of calls) {
    assert.equal((await purser.api("POST", "/costs/events", [{ ...EVENT, ...call }])).status, 201);
  }
}

interface Row {
  agent_id: string;
  session_id: string;
  model: string;
  cost_usd: number;
}

/** Returns the causes of the newest alert of a name, as short texts. */
async function causesOf(purser: TestPurser, name: string) {
  const { body: alerts } = await purser.api("GET", "/alerts/history");
  const { alert_id } = alerts.find(({ rule_name }: { rule_name: string }) => rule_name === name);
  const { body: { causes, past } } = await purser.api("GET", `/alerts/history/${alert_id}`);
  const list = (rows: Row[], field: keyof Row) => rows.map((row) => `${row[field]} ${row.cost_usd}`);
  return {
    agents: list(causes.agents, "agent_id"),
    models: list(causes.models, "model"),
    sessions: list(causes.sessions, "session_id"),
    from: causes.from,
    past: past.length,
  };
}

Deno.test("an alert of a rule has the spending of its run, session or agent, or of all, in its window only", async () => {
  await using purser = await openTestPurser();
  const rule = { severity: "info", threshold_usd: 0.5, cooldown_seconds: 0 };
  const add = (name: string, threshold_type: string, agent_id?: string) =>
    purser.api("POST", "/alerts/rules", { ...rule, name, threshold_type, agent_id });
  await add("day", "per_day_usd");
  await add("ann", "per_month_usd", "ann");
  await add("run", "per_run_usd", "ann");
  await add("session", "per_session_usd", "bob");
  await spend(purser);
  const day = await causesOf(purser, "day");
  assert.deepEqual(day.agents, ["bob 5", "ann 4.5"]);
  assert.deepEqual(day.models, ["gpt-4o 5", "gpt-4o-mini 4.5"]);
  assert.deepEqual(day.sessions, ["s2 5", "s1 4"]);
  assert.deepEqual([day.from, day.past], ["2026-11-01T00:00:00.000Z", 3]);
  assert.deepEqual((await causesOf(purser, "ann")).agents, ["ann 4.5"]);
  assert.deepEqual((await causesOf(purser, "ann")).sessions, ["s1 4"]);
  // The last run has no session.
  assert.deepEqual(await causesOf(purser, "run").then(({ agents, sessions }) => [agents, sessions]), [
    ["ann 0.5"],
    [],
  ]);
  assert.deepEqual(await causesOf(purser, "session").then(({ models, sessions }) => [models, sessions]), [
    ["gpt-4o 5"],
    ["s2 5"],
  ]);
});

Deno.test("an alert of a budget has the spending of the counter that it warns of", async () => {
  await using purser = await openTestPurser();
  const add = async (name: string, more: object) => {
    const { status } = await purser.api("POST", "/budgets", { name, limit_usd: 5, warn_at: [1], ...more });
    assert.equal(status, 201);
  };
  await add("agents", { per: "day", each: "agent" });
  await add("sessions", { per: "session" });
  await add("life", { per: "lifetime" });
  await spend(purser);
  assert.deepEqual((await causesOf(purser, "agents")).agents, ["bob 5"]);
  const session = await causesOf(purser, "sessions");
  assert.deepEqual([session.sessions, session.agents], [["s2 5"], ["bob 5"]]);
  const life = await causesOf(purser, "life");
  assert.deepEqual([life.from, life.past], [null, 0]);
  assert.ok(life.agents.length > 0);
});

Deno.test("the shares of an alert are of the calls booked before it fired, and add up to its value with the others", async () => {
  await using purser = await openTestPurser();
  const rule = { severity: "info", cooldown_seconds: 86_400 };
  const add = (name: string, threshold_type: string, threshold_usd: number) =>
    purser.api("POST", "/alerts/rules", { ...rule, name, threshold_type, threshold_usd });
  await add("session", "per_session_usd", 4);
  await add("day", "per_day_usd", 9);
  await purser.api("POST", "/budgets", {
    name: "sessions of a day",
    per: "day",
    each: "session",
    limit_usd: 4,
    warn_at: [1],
  });
  await spend(purser);
  const { body: fired }: { body: { alert_id: string; rule_name: string }[] } = await purser.api(
    "GET",
    "/alerts/history",
  );
  assert.deepEqual(fired.map(({ rule_name }) => rule_name).toSorted(), [
    "day",
    "session",
    "sessions of a day",
    "sessions of a day",
  ]);
  // Late reports of calls in the windows, of a new agent, model and session too.
  const at = "2026-11-01T00:00:00.000Z";
  for (const [index, agent_id] of ["ann", "bob", "late"].entries()) {
    const call = { call_id: `late ${index}`, agent_id, session_id: `s${index + 1}`, at, cost_usd: 100 };
    const { status } = await purser.api("POST", "/costs/events", [{ ...EVENT, ...call, model: "late" }]);
    assert.equal(status, 201);
  }
  for (const rollUp of [[], rollUpTotals()]) {
    await purser.core.store.write(rollUp);
    for (const { alert_id, rule_name } of fired) {
      const { body: { value_usd, causes } } = await purser.api("GET", `/alerts/history/${alert_id}`);
      for (const list of ["agents", "models", "sessions"]) {
        const rows: { cost_usd: number; share: number }[] = [...causes[list], causes.others[list]];
        const sum = (field: "cost_usd" | "share") => rows.reduce((total, row) => total + row[field], 0);
        const what = `${rule_name}, ${list}: ${JSON.stringify(rows)}`;
        assert.ok(Math.abs(sum("cost_usd") - value_usd) < 1e-9, what);
        assert.ok(Math.abs(sum("share") - 1) < 1e-9, what);
        assert.ok(rows.every(({ cost_usd }) => cost_usd < 100), what);
      }
    }
  }
});

Deno.test("an alert names the calls that it measured, and what they cost by now", async () => {
  await using purser = await openTestPurser();
  const rule = { severity: "info", threshold_usd: 0.5, cooldown_seconds: 86_400 };
  const add = (name: string, threshold_type: string, agent_id?: string) =>
    purser.api("POST", "/alerts/rules", { ...rule, name, threshold_type, agent_id });
  await add("day", "per_day_usd", "ann");
  await add("run", "per_run_usd");
  await add("session", "per_session_usd");
  const report = async (call_id: string, cost_usd: number, more: object = {}) => {
    const at = new Date(purser.clock.now()).toISOString();
    const call = {
      ...EVENT,
      call_id,
      agent_id: "ann",
      session_id: "s1",
      run_id: "r1",
      at,
      cost_usd,
      ...more,
    };
    assert.equal((await purser.api("POST", "/costs/events", [call])).status, 201);
  };
  const measured = async (): Promise<Record<string, [measured: unknown, costUsd: number]>> => {
    const { body } = await purser.api("GET", "/alerts/history");
    const details = await Promise.all(
      body.map(({ alert_id }: { alert_id: string }) => purser.api("GET", `/alerts/history/${alert_id}`)),
    );
    return Object.fromEntries(details.map(({ body: { rule_name, causes } }) => [
      rule_name,
      [causes.measured, causes.cost_usd],
    ]));
  };
  const none = { agent_id: null, key_id: null, session_id: null, run_id: null };
  await report("1", 1);
  assert.deepEqual(await measured(), {
    day: [{ ...none, agent_id: "ann" }, 1],
    session: [{ ...none, session_id: "s1" }, 1],
    run: [{ ...none, session_id: "s1", run_id: "r1" }, 1],
  });
  await report("late", 2, { agent_id: "ann", run_id: "r2" });
  purser.clock.advance(1);
  await report("next", 4, { session_id: "s2", run_id: "r3" });
  const all: Record<string, [unknown, number]> = await measured();
  const costs = Object.fromEntries(Object.entries(all).map(([name, [, usd]]) => [name, usd]));
  assert.deepEqual(costs, { day: 3, session: 3, run: 1 });
});

Deno.test("a rule per run or session names the one that its value is of, with the session of a run", async () => {
  await using purser = await openTestPurser();
  const add = async (threshold_type: string) => {
    const rule = { name: "R", severity: "info", threshold_usd: 100, threshold_type };
    return (await purser.api("POST", "/alerts/rules", rule)).body.rule_id;
  };
  const ids = [await add("per_run_usd"), await add("per_session_usd"), await add("per_hour_usd")];
  await spend(purser);
  for (const rollUp of [[], rollUpTotals()]) {
    await purser.core.store.write(rollUp);
    const rules = await Promise.all(
      ids.map(async (id) => (await purser.api("GET", `/alerts/rules/${id}`)).body),
    );
    assert.deepEqual(
      rules.map(({ value_usd, counter, window_start }) => [value_usd, counter, window_start]),
      [
        [0.5, { kind: "run", id: "r3", session_id: null }, null],
        [5, { kind: "session", id: "s2" }, null],
        [9.5, undefined, "2026-11-01T11:00:00.001Z"],
      ],
    );
  }
});
