import assert from "node:assert/strict";
import { checkNames, namesOf } from "./known_names.ts";

const KNOWN = namesOf<{ db: string; dbToken?: string; costBudgetUsd?: number }>({
  db: true,
  dbToken: true,
  costBudgetUsd: true,
});

Deno.test("checkNames() refuses an unknown name, and names the one that is meant", () => {
  checkNames("open", undefined, KNOWN);
  checkNames("open", {}, KNOWN);
  checkNames("open", { db: "x", dbToken: undefined, costBudgetUsd: 1 }, KNOWN);
  const cases: [object, RegExp][] = [
    [
      { db: "", cost_budget_usd: 1 },
      /^Cannot open: there is no option cost_budget_usd; did you mean costBudgetUsd\?$/,
    ],
    [{ DBToken: 1 }, /no option DBToken; did you mean dbToken\?$/],
    [{ dbTokn: 1 }, /did you mean dbToken\?$/],
    [{ colour: 1 }, /no option colour; there are db, dbToken, costBudgetUsd$/],
    ["db" as unknown as object, /the options must be an object$/],
    [null as unknown as object, /the options must be an object$/],
  ];
  for (const [given, message] of cases) {
    assert.throws(() => checkNames("open", given, KNOWN), { code: "invalid", message });
  }
});
