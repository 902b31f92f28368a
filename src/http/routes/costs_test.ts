import assert from "node:assert/strict";
import type { CostRow } from "../../contract/costs.ts";
import { toCostCsv } from "./costs.ts";

const SUMS = {
  model_calls: 2,
  unpriced_calls: 0,
  partly_priced_calls: 0,
  estimated_calls: 0,
  lower_bound_calls: 0,
  input_tokens: 20,
  output_tokens: 4,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
  total_tokens: 24,
  cost_usd: 0.5,
};

const csvOf = (row: Partial<CostRow>) =>
  toCostCsv([{ ...SUMS, provider: "p", ...row }], { groupBy: "model", limit: 9, offset: 0 }).split("\r\n");

Deno.test("toCostCsv() puts an apostrophe before a text that a spreadsheet would run", () => {
  for (const model of ["=1+1", "+1+1", "-1-1", "@SUM(A1)", "＝1", "\t=1"]) {
    assert.equal(csvOf({ model })[1]!.split(",")[1], `'${model}`);
  }
  assert.ok(csvOf({ model: '=A1,"x"' })[1]!.startsWith(`p,"'=A1,""x""",2,`));
  assert.ok(csvOf({ model: "a-b=c" })[1]!.startsWith("p,a-b=c,2,"));
});

Deno.test("toCostCsv() writes amounts as plain decimals, a negative difference too, and an unknown one as nothing", () => {
  const row = {
    ...SUMS,
    agent_id: "a",
    cost_usd: 1e-9,
    previous: { ...SUMS, cost_usd: 1.5 },
    difference_usd: -1e-9,
  };
  const filter = { groupBy: "agent", compare: {}, limit: 9, offset: 0 } as const;
  const [header, line] = toCostCsv([row], filter).split("\r\n");
  const cells = Object.fromEntries(header!.split(",").map((name, index) => [name, line!.split(",")[index]]));
  assert.deepEqual(
    [cells.cost_usd, cells.previous_cost_usd, cells.previous_model_calls, cells.difference_usd],
    ["0.000000001", "1.5", "2", "-0.000000001"],
  );
  assert.ok(csvOf({ model: "m", cost_usd: null })[1]!.endsWith(",24,,0"));
});

Deno.test("toCostCsv() has a column of the plan value where there is one, 0 without any, also of the span before", () => {
  const [header, line] = toCostCsv(
    [{ ...SUMS, agent_id: "a", plan_usd: 2.5, previous: SUMS, difference_usd: 0 }],
    { groupBy: "agent", compare: {}, limit: 9, offset: 0 },
    true,
  ).split("\r\n");
  const names = header!.split(",");
  const cell = (name: string) => line!.split(",")[names.indexOf(name)];
  assert.deepEqual([cell("cost_usd"), cell("plan_usd"), cell("previous_plan_usd")], ["0.5", "2.5", "0"]);
});

Deno.test("toCostCsv() without rows has the header of its groups", () => {
  const header = (more: object) =>
    toCostCsv([], { groupBy: "day", limit: 9, offset: 0, ...more }).split(",model_calls")[0];
  assert.equal(header({}), "day");
  assert.equal(header({ splitBy: "model" }), "day,provider,model");
  assert.equal(header({ groupBy: "run" }), "run_id,agent_id,model,first_at,last_at");
});
