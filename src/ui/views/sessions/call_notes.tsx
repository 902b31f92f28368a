import { describeStatedReason } from "../../../contract/costs/stated_costs.ts";
import type { CostEvent } from "../../../contract/usage.ts";
import { Badge } from "../../parts/card.tsx";
import { Money } from "../../parts/money.tsx";
import { Text } from "../../parts/text.tsx";

/** The parts of a call that its cost leaves out, since no price of them is known. */
export function UnpricedParts({ unpriced_parts }: Pick<CostEvent, "unpriced_parts">) {
  if (!unpriced_parts?.length) return null;
  return (
    <div class="sub">
      <Badge tone="warning">partly priced</Badge> without <Text>{unpriced_parts.join(", ")}</Text>
    </div>
  );
}

/** The cost that was stated with a call and not booked, and why. */
export function StatedCost(
  { stated_cost_usd, stated_cost_reason }: Pick<CostEvent, "stated_cost_usd" | "stated_cost_reason">,
) {
  if (typeof stated_cost_usd !== "number") return null;
  const reason = describeStatedReason(stated_cost_reason);
  return (
    <div class="sub">
      not <Money usd={stated_cost_usd} /> as stated{reason && `: ${reason}`}
    </div>
  );
}
