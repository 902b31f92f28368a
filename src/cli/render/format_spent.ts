import type { AlertRule } from "../../alerts/mod.ts";
import { formatUsd, type NanoUsd, parseTotalUsd } from "../../kernel/money.ts";
import type { Paint, Style } from "../terminal/style.ts";

const CENT = 10_000_000n;

/**
 * Formats spending beside the threshold: `$3.20 of $10`. It is rounded down, to at least the threshold's decimals, so
 * that it never looks reached before it is. Null is no spending.
 */
export function formatSpent(valueUsd: number | null, thresholdUsd: number): string {
  const threshold = parseTotalUsd(thresholdUsd);
  const spent = valueUsd === null ? "-" : roundDown(parseTotalUsd(valueUsd), threshold);
  return `${spent} of ${formatThreshold(threshold)}`;
}

/** Formats a threshold exactly: `$10`, `$0.50`, `$0.0001506`. */
export function formatThreshold(threshold: NanoUsd): string {
  const [whole = "0", fraction] = formatUsd(threshold).split(".");
  return `$${groupDigits(whole)}${fraction === undefined ? "" : `.${fraction.padEnd(2, "0")}`}`;
}

function roundDown(value: NanoUsd, threshold: NanoUsd): string {
  if (value <= 0n) return "$0";
  // Below a cent, three significant digits.
  const small = value < CENT ? 12 - String(value).length : 2;
  const decimals = Math.min(9, Math.max(2, decimalsOf(threshold), small));
  const unit = 10n ** BigInt(9 - decimals);
  const [whole = "0", fraction = ""] = formatUsd(value / unit * unit).split(".");
  return `$${groupDigits(whole)}.${fraction.padEnd(2, "0")}`;
}

function groupDigits(whole: string): string {
  return whole.replace(/\B(?=(\d{3})+$)/g, ",");
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
