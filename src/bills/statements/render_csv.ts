import type { CostStatement } from "../../contract/statements.ts";
import { cellOf, toLines } from "../../kernel/csv.ts";

const COLUMNS = [
  "kind",
  "subject",
  "of_month",
  "provider",
  "model",
  "model_calls",
  "unpriced_calls",
  "total_tokens",
  "amount_usd",
  "markup_usd",
  "total_usd",
] as const;

/** Returns a statement as CSV: lines of usage, corrections and shares, and the total of each subject. The subject of calls without the tag is empty. */
export function renderStatementCsv(statement: CostStatement): string {
  const rows: Record<string, unknown>[] = [
    ...statement.lines.map((line) => ({ kind: "usage", ...line })),
    ...statement.corrections.map((line) => ({ kind: "correction", ...line })),
    ...statement.subjects.filter(({ shared_usd }) => shared_usd !== "0")
      .map(({ subject, shared_usd }) => ({ kind: "shared", subject, amount_usd: shared_usd })),
    ...statement.subjects.map((each) => ({ kind: "subject_total", ...totalOf(each) })),
    { kind: "total", ...statement.total, ...totalOf(statement.total) },
  ];
  return toLines([[...COLUMNS], ...rows.map((row) => COLUMNS.map((name) => cellOf("", row[name])))]);
}

/** The markup of a share is in the total of its subject alone. */
const totalOf = (
  { subject, markup_usd, total_usd }: { subject?: string | null; markup_usd: string; total_usd: string },
) => ({ subject, markup_usd, total_usd, amount_usd: undefined });
