/** Alert rules, the decision, the history, the outbox and the dispatcher. */
export { announceAlerts } from "./firing/announce_alerts.ts";
export { advanceCounters, decideAlerts, readFired } from "./firing/decide_alerts.ts";
export { describeAlert } from "./describe_alert.ts";
export { firingLogic } from "./firing/firing_logic.ts";
export { ensureRules, type RuleInCode } from "./rules/ensure_rules.ts";
export {
  type AlertDispatcher,
  type AlertEvaluator,
  type ChannelInput,
  createAlertEvaluator,
  createDispatcher,
} from "./evaluator.ts";
export { readAlertNotification } from "./read_notification.ts";
export type { AlertContext } from "./context.ts";
export { type AlertRule } from "./rules/rule.ts";
export { createRule } from "./rules/create_rule.ts";
export { getRule, ruleNotFound, type RuleWithValue } from "./rules/get_rule.ts";
export { type AlertHistoryRecord, type DeliveryRecord, listAlerts, MAX_HISTORY } from "./list_alerts.ts";
export { hasRules } from "./has_rules.ts";
export { listRules } from "./rules/list_rules.ts";
export { removeRule } from "./rules/remove_rule.ts";
export type { RuleChanges, RuleInput } from "../contract/rule_input.ts";
export { type RuleTest, testRule } from "./evaluate_rule.ts";
export { updateRule } from "./rules/update_rule.ts";
