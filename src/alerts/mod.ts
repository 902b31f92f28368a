/** Alert rules, the decision, the history, the outbox and the dispatcher. */
export { announceAlerts } from "./announce_alerts.ts";
export { checkDeliveries, type GivenUp, type WaitingFor } from "./check_deliveries.ts";
export { advanceCounters, decideAlerts, readFired } from "./decide_alerts.ts";
export { describeAlert } from "./describe_alert.ts";
export type { DispatchContext } from "./deliver_claimed.ts";
export { deliverDue, type DeliveryBounds } from "./deliver_due.ts";
export { type Dispatcher, startDispatcher } from "./dispatcher.ts";
export { firingLogic } from "./firing_logic.ts";
export { ensureRules, type RuleInCode } from "./ensure_rules.ts";
export {
  type AlertDispatcher,
  type AlertEvaluator,
  type ChannelInput,
  createAlertEvaluator,
  createDispatcher,
} from "./evaluator.ts";
export { giveUpOrphans } from "./give_up_orphans.ts";
export { instanceOf } from "./lease_holder.ts";
export { readAlertNotification } from "./read_notification.ts";
export { readWaiting, type Waiting } from "./read_waiting.ts";
export type { AlertContext, OutboxChannel } from "./context.ts";
export { insertDeliveries } from "./outbox.ts";
export { type AlertRule, DEFAULT_COOLDOWN_SECONDS, type Repeat, REPEATS, THRESHOLD_TYPES } from "./rule.ts";
export { createRule } from "./create_rule.ts";
export { getRule, ruleNotFound, type RuleWithValue } from "./get_rule.ts";
export { type AlertHistoryRecord, type DeliveryRecord, listAlerts, MAX_HISTORY } from "./list_alerts.ts";
export { knowRules } from "./know_rules.ts";
export { listRules } from "./list_rules.ts";
export { removeRule } from "./remove_rule.ts";
export type { RuleChanges, RuleInput } from "./rule_input.ts";
export { testChannel, type TestContext, type TestResult } from "./test_channel.ts";
export { type RuleTest, testRule } from "./test_rule.ts";
export { updateRule } from "./update_rule.ts";
