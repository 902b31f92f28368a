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
export function paintSpent(
  { value_usd: value, threshold_usd: threshold }: { value_usd: number | null; threshold_usd: number },
  style: Style,
): Paint | undefined {
  if (value === null || value < threshold * 0.8) return undefined;
  return value >= threshold ? style.red : style.yellow;
}

/** The colour of a severity. */
export function paintSeverity({ severity }: Pick<AlertRule, "severity">, style: Style): Paint | undefined {
  return { critical: style.red, warning: style.yellow, info: style.cyan }[severity];
}
