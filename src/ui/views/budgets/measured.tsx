import type { Alert } from "../../../contract/alerts/alerts.ts";
import { ASK_THRESHOLD, isOfCalls } from "../../../contract/values.ts";
import { periodOf } from "../../../contract/windows.ts";
import { Money } from "../../parts/money.tsx";
import { windowText } from "./periods.ts";

/** An amount, or of an alert about a plan a percentage. */
export function Measured({ usd, pct }: { usd: number | null; pct: number | undefined }) {
  return pct === undefined ? <Money usd={usd} /> : <>{pct}%</>;
}

/** Returns the window of an alert in words. */
export const windowIn = (
  { threshold_type, plan_window: plan, bill, time_zone = "UTC" }: Pick<
    Alert,
    "threshold_type" | "plan_window" | "bill" | "time_zone"
  >,
) =>
  threshold_type === ASK_THRESHOLD
    ? "window of a budget"
    : isOfCalls(threshold_type)
    ? windowText({ per: periodOf(threshold_type), time_zone })
    : threshold_type === "unexplained_above"
    ? bill ? `${bill.source}, ${bill.month}` : "month of a bill"
    : plan === undefined
    ? "window of a plan"
    : `${plan.window} window of the ${plan.agent_id} plan`;
