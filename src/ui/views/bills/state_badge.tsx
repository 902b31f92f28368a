import type { BillPeriod } from "../../../contract/bills/reconciliations.ts";
import { Badge, type Tone } from "../../parts/card.tsx";

const TONES: Record<BillPeriod["state"], Tone> = {
  open: "neutral",
  soft_closed: "accent",
  closed: "good",
  reopened: "warning",
};

/** The state of a month of a bill. */
export function StateBadge({ state }: Pick<BillPeriod, "state">) {
  return <Badge tone={TONES[state]}>{state.replace("_", "-")}</Badge>;
}
