import assert from "node:assert/strict";
import { PurserError } from "../../kernel/errors.ts";
import { BudgetChanges, BudgetReservationBody, readBudgetInput } from "./budgets.ts";

const BUDGET = { name: "Day", limit_usd: 50, per: "day" };

function pathsOf(value: unknown): string[] {
  try {
    readBudgetInput(value);
  } catch (error) {
    assert.ok(error instanceof PurserError && error.code === "invalid");
    return (error.details!.issues as { path: string }[]).map(({ path }) => path);
  }
  return [];
}

Deno.test("readBudgetInput() gives back what is right, and fills in nothing", () => {
  const full = {
    ...BUDGET,
    ...{
      per: "lifetime",
      agent_id: "researcher",
      session_id: null,
      key_id: null,
      each: "session",
      mode: "strict",
    },
    ...{ action: "watch", warn_at: [0.5, 1], counts_from: "2026-11-01T00:00:00Z", allow_unpriced: true },
    enabled: false,
  };
  for (const budget of [BUDGET, full, { ...BUDGET, limit_usd: 0, warn_at: [] }]) {
    assert.deepEqual(readBudgetInput(budget), budget);
  }
});

Deno.test("readBudgetInput() names the path of every fault", () => {
  assert.deepEqual(pathsOf({ name: " ", limit_usd: -1, per: "year", mode: "hard", extra: 1 }), [
    ...["name", "limit_usd", "per", "mode", "extra"],
  ]);
  for (const limit_usd of [NaN, Infinity, -1e-9, 1e-10, 1e9 + 1, "1", null]) {
    assert.deepEqual(pathsOf({ ...BUDGET, limit_usd }), ["limit_usd"], String(limit_usd));
  }
  for (const share of [0, -0.5, 1.001, 0.0001, NaN, "1"]) {
    assert.deepEqual(pathsOf({ ...BUDGET, warn_at: [share] }), ["warn_at[0]"], String(share));
  }
  assert.deepEqual(pathsOf({ ...BUDGET, warn_at: [1, 1] }), ["warn_at"]);
  assert.deepEqual(pathsOf({ ...BUDGET, warn_at: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6] }), ["warn_at"]);
  for (let share = 1; share <= 1_000; share++) {
    assert.deepEqual(pathsOf({ ...BUDGET, warn_at: [share / 1_000] }), [], String(share / 1_000));
  }
});

Deno.test("a budget names any of its subjects, each of which is of a kind that it doesn't name", () => {
  assert.deepEqual(pathsOf({ ...BUDGET, agent_id: "a", session_id: "s", key_id: "k", model: "m*" }), []);
  const names = { none: {}, agent: { agent_id: "a" }, session: { session_id: "s" }, key: { key_id: "k" } };
  for (const [kind, named] of Object.entries(names)) {
    for (const each of ["agent", "session", "key"]) {
      const isAllowed = each !== kind;
      assert.deepEqual(
        pathsOf({ ...BUDGET, ...named, each }),
        isAllowed ? [] : ["each"],
        `${each} with ${kind}`,
      );
    }
  }
  for (const per of ["run", "session"]) {
    assert.deepEqual(pathsOf({ ...BUDGET, per, each: "agent" }), ["each"]);
  }
  for (const [field, id] of [["session_id", "ses_1"], ["key_id", "key_1"]] as const) {
    assert.deepEqual(pathsOf({ ...BUDGET, per: "run", [field]: id }), [field]);
    assert.deepEqual(pathsOf({ ...BUDGET, per: "session", [field]: id }), []);
  }
});

Deno.test("counts_from is a midnight in UTC, and only of a lifetime", () => {
  const lifetime = { ...BUDGET, per: "lifetime" };
  for (
    const counts_from of ["2026-11-01T00:00:00Z", "2026-11-01T02:00:00+02:00", "2026-11-01T00:00:00.000Z"]
  ) {
    assert.deepEqual(pathsOf({ ...lifetime, counts_from }), []);
    assert.deepEqual(pathsOf({ ...BUDGET, counts_from }), ["counts_from"]);
  }
  for (const counts_from of ["2026-11-01T00:00:00.001Z", "2026-11-01T00:00:00+02:00", "2026-11-01", 0]) {
    assert.deepEqual(pathsOf({ ...lifetime, counts_from }), ["counts_from"], String(counts_from));
  }
});

Deno.test("BudgetChanges needs one field at least, and no id", () => {
  const messageOf = (value: unknown) => BudgetChanges.safeParse(value).error?.issues[0]?.message ?? "";
  assert.equal(messageOf({ agent_id: null }), "");
  assert.match(messageOf({}), /^must have at least one of name, limit_usd, .*, enabled$/);
  assert.match(messageOf({ budget_id: "bud_1" }), /^Unrecognized key: "budget_id"$/);
});

Deno.test("a reservation needs an estimate or a worst case, and the worst case is no less", () => {
  const pathsOf = (value: object) =>
    BudgetReservationBody.safeParse({ agent_id: "a", ...value }).error?.issues.map(({ path }) =>
      path.join(".")
    ) ??
      [];
  for (const right of [{ estimate_usd: 0 }, { worst_case_usd: 1 }, { estimate_usd: 1, worst_case_usd: 1 }]) {
    assert.deepEqual(pathsOf(right), []);
  }
  assert.deepEqual(pathsOf({}), ["estimate_usd"]);
  assert.deepEqual(pathsOf({ estimate_usd: 2, worst_case_usd: 1 }), ["worst_case_usd"]);
  for (const estimate_usd of [-1, 1e6 + 1, 1e-10]) {
    assert.deepEqual(pathsOf({ estimate_usd }), ["estimate_usd"]);
  }
  for (const ttl_seconds of [0, 901, 0.5]) {
    assert.deepEqual([...new Set(pathsOf({ estimate_usd: 1, ttl_seconds }))], ["ttl_seconds"]);
  }
});
