import { firingLogic } from "../alerts/mod.ts";
import { reservationLogic } from "../budgets/mod.ts";
import { usageIncrements, usageViews } from "../ledger/mod.ts";
import { appendOnlyLogic, type Logic } from "../store/mod.ts";

/** The business logic that is installed in a database as views and triggers. */
export const databaseLogic: readonly Logic[] = [
  ...appendOnlyLogic,
  ...usageViews,
  ...usageIncrements,
  ...firingLogic,
  ...reservationLogic,
];
