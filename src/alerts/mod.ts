/** Alert rules, the decision, the history, the outbox and the dispatcher. */
export { announceAlerts } from "./firing/announce_alerts.ts";
export { checkDeliveries, type GivenUp, type WaitingFor } from "../delivery/check_deliveries.ts";
export { advanceCounters, decideAlerts, readFired } from "./firing/decide_alerts.ts";
export { describeAlert } from "./describe_alert.ts";
export type { DispatchContext } from "../delivery/deliver_claimed.ts";
export { deliverDue, type DeliveryBounds } from "../delivery/deliver_due.ts";
export { type Dispatcher, startDispatcher } from "../delivery/dispatcher.ts";
export { firingLogic } from "./firing/firing_logic.ts";
export { ensureRules, type RuleInCode } from "./rules/ensure_rules.ts";
export {
  type AlertDispatcher,
  type AlertEvaluator,
  type ChannelInput,
  createAlertEvaluator,
  createDispatcher,
} from "./evaluator.ts";
export { giveUpOrphans } from "../delivery/give_up_orphans.ts";
export { instanceOf } from "../delivery/lease_holder.ts";
export { readAlertNotification } from "./read_notification.ts";
export { readWaiting, type Waiting } from "../delivery/read_waiting.ts";
export type { AlertContext, OutboxChannel } from "./context.ts";
export { insertDeliveries } from "../delivery/outbox.ts";
export {
  type AlertRule,
  DEFAULT_COOLDOWN_SECONDS,
  type Repeat,
  REPEATS,
  THRESHOLD_TYPES,
} from "./rules/rule.ts";
export { createRule } from "./rules/create_rule.ts";
export { getRule, ruleNotFound, type RuleWithValue } from "./rules/get_rule.ts";
export { type AlertHistoryRecord, type DeliveryRecord, listAlerts, MAX_HISTORY } from "./list_alerts.ts";
export { knowRules } from "./rules_known.ts";
export { listRules } from "./rules/list_rules.ts";
export { removeRule } from "./rules/remove_rule.ts";
export type { RuleChanges, RuleInput } from "./rules/rule_input.ts";
export { testChannel, type TestContext, type TestResult } from "../delivery/send_test_message.ts";
export { type RuleTest, testRule } from "./evaluate_rule.ts";
export { updateRule } from "./rules/update_rule.ts";
