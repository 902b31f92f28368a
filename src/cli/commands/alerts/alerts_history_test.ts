import assert from "node:assert/strict";
import type { AlertDelivery } from "../../../contract/alerts/alerts.ts";
import { describeDeliveries } from "./alerts_history.ts";

const delivery = (channel: string, more: Partial<AlertDelivery>) =>
  ({ channel, attempts: 1, last_error: null, ...more }) as AlertDelivery;

Deno.test("describeDeliveries() puts failures first, and counts channels where there is no room, successful ones first", () => {
  const deliveries = [
    delivery("log", { status: "delivered" }),
    delivery("ops", { status: "pending", attempts: 2, last_error: "HTTP 503" }),
    delivery("mail", { status: "failed" }),
    delivery("sms", { status: "pending", attempts: 0 }),
  ];
  const cases: [number | undefined, string][] = [
    [undefined, "mail failed, ops retrying (2), sms waiting, log ok"],
    [50, "mail failed, ops retrying (2), sms waiting, log ok"],
    [49, "mail failed, ops retrying (2), sms waiting, 1 ok"],
    [47, "mail failed, 2 pending, 1 ok"],
    [27, "1 failed, 2 pending, 1 ok"],
    [5, "1 failed, 2 pending, 1 ok"],
  ];
  for (const [width, text] of cases) assert.equal(describeDeliveries({ deliveries }, width), text);
  assert.equal(describeDeliveries({ deliveries: [] }, 1), "no channel");
});
