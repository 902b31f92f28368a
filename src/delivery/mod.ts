/** The outbox and its dispatcher: what is written in the commit that fires is delivered to channels, and retried. */
export { checkDeliveries, type GivenUp, type WaitingFor } from "./check_deliveries.ts";
export type { DeliveryContext, OutboxChannel } from "./context.ts";
export type { DispatchContext } from "./deliver_claimed.ts";
export { deliverDue, type DeliveryBounds } from "./deliver_due.ts";
export { type Dispatcher, startDispatcher } from "./dispatcher.ts";
export { giveUpOrphans } from "./give_up_orphans.ts";
export { instanceOf, testHolder } from "./lease_holder.ts";
export { encodeChannels, insertDeliveries } from "./outbox.ts";
export { readWaiting, type Waiting } from "./read_waiting.ts";
export { attemptTest, testChannel, type TestContext } from "./send_test_message.ts";
export type { TestResult } from "../contract/channels.ts";
