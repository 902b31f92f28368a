/** Alert rules, the decision, the history, the outbox and the dispatcher. */
export type { AlertContext, OutboxChannel } from "./context.ts";
export { insertDeliveries } from "./outbox.ts";
export { type AlertRule, DEFAULT_COOLDOWN_SECONDS, type Repeat, REPEATS, THRESHOLD_TYPES } from "./rule.ts";
