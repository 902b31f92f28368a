import type { Sentence } from "./sentence.ts";
import { BOOKED_ROW } from "./sentences/booked_row.ts";
import { ENDINGS } from "./sentences/endings.ts";
import { LEDGER_DOWN } from "./sentences/ledger_down.ts";
import { REFUSALS } from "./sentences/refusals.ts";
import { STRICT_BUDGETS } from "./sentences/strict_budgets.ts";

/** The sentences that hold for every caller of models. */
export const SENTENCES: readonly Sentence[] = [
  ...BOOKED_ROW,
  ...ENDINGS,
  ...LEDGER_DOWN,
  ...REFUSALS,
  ...STRICT_BUDGETS,
];
