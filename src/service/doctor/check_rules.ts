import { isAtLeast, type Severity } from "../../contract/values.ts";
import type { WholeCore } from "../core.ts";
import { findMisnamed, listMisnamed, remedyOf } from "./check_budgets.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** Counts the alert rules, those whose severity no channel but the log delivers, and those that name an unknown subject. */
export async function checkRules(
  { store, channels }: Pick<WholeCore, "store" | "channels">,
): Promise<Finding> {
  const { rows } = await store.read({
    sql: "SELECT enabled, severity, count(*) FROM alert_rules GROUP BY enabled, severity",
  });
  const groups = rows.map(([enabled, severity, count]) => ({
    isEnabled: Number(enabled) !== 0,
    severity: severity as Severity,
    count: Number(count),
  }));
  const sum = (some: typeof groups) => some.reduce((total, { count }) => total + count, 0);
  const enabledGroups = groups.filter(({ isEnabled }) => isEnabled);
  const [all, enabled] = [sum(groups), sum(enabledGroups)];
  if (all === 0) return ok("none yet; purser alerts add makes one");
  const misnamed = await findMisnamed({ store }, "alert_rules");
  const state = [`${enabled} enabled, ${all - enabled} disabled`, ...listMisnamed(misnamed)].join("; ");
  const others = channels.list.filter(({ kind }) => kind !== "log");
  const logOnly = sum(
    enabledGroups.filter(({ severity }) =>
      !others.some(({ minSeverity }) => isAtLeast(severity, minSeverity))
    ),
  );
  const [first] = misnamed;
  if (first) {
    return warning(state, remedyOf("alerts", first));
  }
  if (logOnly === 0) return ok(state);
  return warning(
    `${state}; ${logOnly === enabled ? "all" : logOnly} of the enabled ones go to the log only`,
    others.length === 0 ? "Name a channel in the config file" : "Lower the min_severity of a channel",
  );
}
