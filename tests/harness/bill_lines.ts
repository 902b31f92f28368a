import { formatUsd } from "../../src/kernel/money.ts";
import type { Statement } from "../../src/store/mod.ts";

const LINE =
  `INSERT INTO bill_lines (position, source, account, import_id, state, natural_key, content, revision, month, series,
  category, starts_at, ends_at, sku, amount, amount_nano_usd, currency, is_equivalent)
  VALUES (?, 'anthropic', 'org', 'i', ?, ?, '', 1, ?, 'cost', ?, ?, ?, ?, ?, ?, ?, 0)`;

const START = Date.parse("2026-10-01T00:00:00Z");

/** A line of a bill of October 2026, as an importer keeps it. */
export function billLine(
  position: number,
  { category, amountNanoUsd, month = "2026-10", at = START, state = "current", currency = "USD" }: {
    category: string;
    amountNanoUsd: bigint;
    month?: string;
    at?: number;
    state?: string;
    currency?: string;
  },
): Statement {
  const amount = formatUsd(amountNanoUsd);
  const nano = currency === "USD" ? amountNanoUsd : null;
  return {
    sql: LINE,
    args: [
      position,
      state,
      `k${position}`,
      month,
      category,
      at,
      at + 3_600_000,
      `sku-${category}`,
      amount,
      nano,
      currency,
    ],
  };
}
