import { z } from "@hono/zod-openapi";
import { CostRow } from "../costs.ts";
import { countedValues, nameFields } from "../costs/dimension_fields.ts";
import { CostUsd, Time, Usd } from "../parts.ts";

/** The wire schemas of the causes of an alert: what was spent in its window. */

const Share = z.number().min(0).max(1).openapi({
  description: "The part of `value_usd`; those of a list and its `others` add up to 1",
  example: 0.62,
});

export const AlertCause = z.object({
  ...CostRow.shape,
  share: Share.nullable().openapi({ description: "Null where no price is known" }),
}).openapi("AlertCause");
export type AlertCause = z.infer<typeof AlertCause>;

const top = (of: string) =>
  z.array(AlertCause).openapi({ description: `The ${of} with the most spending in that span, at most five` });

export const OtherCauses = z.object({ cost_usd: Usd, share: Share }).openapi("OtherAlertCauses", {
  description: "What the list leaves of `value_usd`",
});
export type OtherCauses = z.infer<typeof OtherCauses>;

export const MeasuredCalls = z.object({
  ...countedValues,
  ...nameFields(() => ({})),
}).openapi("MeasuredCalls", {
  description: "The calls that the alert measured: those that match each field that is not null",
});

/** The spending in the window of an alert, of the calls that were booked until it fired. */
export const AlertCauses = z.object({
  from: Time.nullable().openapi({ description: "Null where all there is counts" }),
  to: Time.openapi({ description: "Inclusive; when the alert was triggered" }),
  measured: MeasuredCalls,
  cost_usd: CostUsd.openapi({
    description:
      "What these calls cost by now: of the span, or of the whole session or run. Differs from `value_usd` where calls " +
      "were booked, or prices corrected, after the alert",
  }),
  agents: top("agents"),
  models: top("models"),
  sessions: top("sessions"),
  others: z.object({ agents: OtherCauses, models: OtherCauses, sessions: OtherCauses }),
  sessions_from: Time.openapi({
    description:
      "The sessions are those of the calls from then on: of a long window, of the newest 1,000 before the alert",
  }),
}).openapi("AlertCauses");
export type AlertCauses = z.infer<typeof AlertCauses>;
