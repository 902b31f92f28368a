import { firingLogic } from "./alerts/firing_logic.ts";
import { reservationLogic } from "./budget/reservation_logic.ts";
import { usageIncrements, usageViews } from "./ledger/usage_sql.ts";
import { appendOnlyLogic } from "./store/append_only_logic.ts";
import type { Logic } from "./store/mod.ts";

/** The rules of the business that a database holds as views and triggers. */
export const databaseLogic: readonly Logic[] = [
  ...appendOnlyLogic,
  ...usageViews,
  ...usageIncrements,
  ...firingLogic,
  ...reservationLogic,
];
