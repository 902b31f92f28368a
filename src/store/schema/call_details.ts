import type { BilledPart } from "../../contract/billed_parts.ts";
import type { StatedCostReason } from "../../contract/costs/stated_costs.ts";
import type { OtherModel } from "../../contract/usage.ts";

/** The facts of a call that most calls don't have, as the JSON of its row, by the names of the wire. */
export interface CallDetails extends Partial<Record<BilledPart, number>> {
  other_counts?: Record<string, number>;
  other_models?: OtherModel[];
  speed?: string;
  inference_geo?: string;
  list_cost_nano_usd?: string;
  stated_reason?: StatedCostReason;
}
