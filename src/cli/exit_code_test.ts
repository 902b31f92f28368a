import assert from "node:assert/strict";
import { BudgetExceededError, type ErrorCode, PurserError } from "../kernel/errors.ts";
import { exitCodeOf } from "./exit_code.ts";
import { UsageError } from "./parse/usage_error.ts";

Deno.test("exitCodeOf() maps error codes to exit codes", () => {
  const cases: [ErrorCode, number][] = [
    ["invalid", 1],
    ["not_found", 3],
    ["unauthorized", 4],
    ["forbidden", 4],
    ["budget_exceeded", 5],
    ["conflict", 1],
    ["provider_error", 1],
    ["unavailable", 1],
    ["internal", 1],
  ];
  for (const [code, exit] of cases) assert.equal(exitCodeOf(new PurserError(code, "…")), exit, code);
  assert.equal(exitCodeOf(new UsageError("…")), 2);
  assert.equal(exitCodeOf(new BudgetExceededError("…", { cost_usd_so_far: 1, budget_usd: 1 })), 5);
  assert.equal(exitCodeOf(new TypeError("a bug")), 1);
});
