import type { AlertRule } from "../../alerts/mod.ts";
import {
  formatUsd,
  groupThousands,
  type NanoUsd,
  parseTotalUsd,
  roundToDecimals,
} from "../../kernel/money.ts";
import type { Paint, Style } from "../terminal/style.ts";
import { decimalsShown } from "./format_cost.ts";

/**
 * Formats spending beside the threshold: `$3.20 of $10`. It is rounded as in other tables, to at least the threshold's
 * decimals, and to more where it would look reached before it is. Null stands for no spending.
 */
export function formatSpent(valueUsd: number | null, thresholdUsd: number): string {
  const threshold = parseTotalUsd(thresholdUsd);
  const spent = valueUsd === null ? "-" : formatRounded(parseTotalUsd(valueUsd), threshold);
  return `${spent} of ${formatThreshold(threshold)}`;
}

/** The value of a rule or an alert beside its threshold: in USD, or of a plan's window in percent. */
interface Measured {
  value_usd: number | null;
  threshold_usd: number | null;
  value_pct?: number | null | undefined;
  threshold_pct?: number | null | undefined;
}

/** Formats it: `$3.20 of $10`, `42% of 80%`. */
export function formatMeasured<Of extends Measured>(
  { value_usd, threshold_usd, value_pct, threshold_pct }: Of,
): string {
  if (threshold_usd !== null) return formatSpent(value_usd, threshold_usd);
  return `${value_pct == null ? "-" : `${value_pct}%`} of ${threshold_pct}%`;
}

/** Formats a threshold exactly: `$10`, `$0.50`, `$0.0001506`. */
export function formatThreshold(threshold: NanoUsd): string {
  const [whole = "0", fraction] = formatUsd(threshold).split(".");
  return `$${groupThousands(whole)}${fraction === undefined ? "" : `.${fraction.padEnd(2, "0")}`}`;
}

function formatRounded(value: NanoUsd, threshold: NanoUsd): string {
  if (value <= 0n) return "$0";
  let decimals = Math.max(decimalsShown(value), decimalsOf(threshold));
  let rounded = roundToDecimals(value, decimals);
  while (value < threshold && rounded >= threshold) rounded = roundToDecimals(value, ++decimals);
  const [whole = "0", fraction = ""] = formatUsd(rounded).split(".");
  return `$${groupThousands(whole)}.${fraction.padEnd(2, "0")}`;
}

function decimalsOf(value: NanoUsd): number {
  return formatUsd(value).split(".")[1]?.length ?? 0;
}

/** Red when the threshold is reached, yellow from 80% of it. */
export function paintSpent(measured: Measured, style: Style): Paint | undefined {
  const value = measured.value_usd ?? measured.value_pct;
  const threshold = measured.threshold_usd ?? measured.threshold_pct;
  if (value == null || threshold == null || value < threshold * 0.8) return undefined;
  return value >= threshold ? style.red : style.yellow;
}

/** The colour of a severity. */
export function paintSeverity({ severity }: Pick<AlertRule, "severity">, style: Style): Paint | undefined {
  return { critical: style.red, warning: style.yellow, info: style.cyan }[severity];
}
