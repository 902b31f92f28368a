/**
 * Alert rules, their firing, and the history of alerts.
 *
 * An alert's firing is defined in `firing/firing_logic.ts`, as triggers that run in the commit that books a call:
 * decide, claim, fire (start the cooldown, write the deliveries to the outbox). `firing/decide_alerts.ts` has the
 * statements that start them, and those that run before: they arm the rules whose cooldown is over, and handle a clock
 * that was set back. It announces the alerts after the commit; delivery is `../delivery/mod.ts`.
 */
export {
  advanceCounters,
  announceAlerts,
  askNotifier,
  decideAlerts,
  firePlanRules,
  fireUnexplained,
  readFired,
  warnOfBudgets,
} from "./firing/decide_alerts.ts";
export {
  createRule,
  decideBooked,
  ensureRules,
  removeRule,
  type RuleInCode,
  updateRule,
} from "./rules/change_rules.ts";
export { RULES, toAuthoredRule } from "./rules/rule_fields.ts";
export { getRule, listRules } from "./rules/rules.ts";
export type { RuleTest } from "../contract/alerts/sent_alerts.ts";
export type { AlertRule, RuleChanges, RuleInput } from "../contract/alerts/alert_rules.ts";
export { listAlerts, readAlertNotification } from "./alerts.ts";
export { resendAlert, testRule } from "./send_alerts.ts";
export { explainAlert } from "./explain_alert.ts";
export {
  type AlertDispatcher,
  type AlertEvaluator,
  type ChannelInput,
  createAlertEvaluator,
  createDispatcher,
} from "./defined_in_code.ts";
export type { AlertContext, KnownRules } from "./context.ts";
