/**
 * The outbox and its dispatcher: notifications are written in the commit that creates them, then delivered to channels
 * and retried. Read on in `outbox.ts`, `dispatcher.ts`, `claim_delivery.ts`, and `channels/channel_sender.ts`.
 */
export type { DeliveryContext, DispatchContext, OutboxChannel } from "./context.ts";
export { deliverDue, type DeliveryBounds, startDispatcher } from "./dispatcher.ts";
export { insertDeliveries } from "./outbox.ts";
export { checkDeliveries, type GivenUp, readWaiting, type WaitingFor } from "./outbox_status.ts";
export { giveUpOrphans, SELECT_HOLDERS } from "./recover_deliveries.ts";
export { sendOnce, sendToChannels, testChannel, type TestContext } from "./send_test_message.ts";
export type { TestResult } from "../contract/channels.ts";
export { instanceOf } from "./claim_delivery.ts";
