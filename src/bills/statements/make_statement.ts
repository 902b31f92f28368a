import type { SharedRule } from "../../contract/values.ts";
import type { CostStatement, StatementLine } from "../../contract/statements.ts";
import { divideHalfEven, formatUsd, type NanoUsd, parseTotalUsd } from "../../kernel/money.ts";
import type { TaggedSum } from "../../ledger/tagged_sums/mod.ts";
import { allot } from "./allot.ts";

/** The decimals of a markup in percent, as an integer. */
const PARTS_PER_PERCENT = 10_000n;

/** The sums from which a statement is computed. */
export interface StatementInput {
  /** Its fields that are no sums. */
  head: Omit<
    CostStatement,
    "subjects" | "lines" | "corrections" | "shared_costs" | "unshared_usd" | "total" | "changes"
  >;
  sums: readonly TaggedSum[];
  corrections: readonly (TaggedSum & { ofMonth: string })[];
  sharedCosts: CostStatement["shared_costs"];
  before: CostStatement | undefined;
}

const PARTS = ["amount", "corrections", "shared", "markup"] as const;
type Amounts = Record<typeof PARTS[number], NanoUsd>;
const NOTHING: Readonly<Amounts> = { amount: 0n, corrections: 0n, shared: 0n, markup: 0n };

/**
 * Makes a statement: each line's markup is rounded by itself, half to even, and every total is the sum of its lines, so that it can be added up
 * by hand. Shared costs are divided to the last nano-USD.
 */
export function makeStatement(
  { head, sums, corrections, sharedCosts, before }: StatementInput,
): CostStatement {
  const parts = BigInt(Math.round(Number(head.markup_percent) * Number(PARTS_PER_PERCENT)));
  const markupOn = (amount: NanoUsd) => divideHalfEven(amount * parts, 100n * PARTS_PER_PERCENT);
  const toLine = (sum: TaggedSum): StatementLine => {
    const markup = markupOn(sum.costNanoUsd);
    return {
      subject: sum.value,
      provider: sum.provider,
      model: sum.model,
      model_calls: sum.modelCalls,
      unpriced_calls: sum.unpricedCalls,
      total_tokens: sum.totalTokens,
      amount_usd: formatUsd(sum.costNanoUsd),
      markup_usd: formatUsd(markup),
      total_usd: formatUsd(sum.costNanoUsd + markup),
    };
  };
  const bySubject = new Map<string | null, Amounts>();
  const book = (subject: string | null, part: "amount" | "corrections" | "shared", amount: NanoUsd) => {
    let amounts = bySubject.get(subject);
    if (!amounts) bySubject.set(subject, amounts = { ...NOTHING });
    amounts[part] += amount;
    amounts.markup += markupOn(amount);
  };
  for (const { value, costNanoUsd } of sums) book(value, "amount", costNanoUsd);
  for (const { value, costNanoUsd } of corrections) book(value, "corrections", costNanoUsd);
  const pool = sharedCosts.reduce((sum, { amount_usd }) => sum + parseTotalUsd(amount_usd), 0n);
  const all = [...bySubject].sort(([a], [b]) => compareNames(a, b));
  const sharers = sharersOf(head.shared, all);
  const shares = allot(pool, sharers.map(({ weight }) => weight));
  for (const [index, { subject }] of sharers.entries()) book(subject, "shared", shares[index]!);
  const total = { ...NOTHING };
  for (const [, each] of all) for (const part of PARTS) total[part] += each[part];
  const count = (of: "modelCalls" | "unpricedCalls") => sums.reduce((sum, each) => sum + each[of], 0);
  const subjects = all.map(([subject, amounts]) => ({ subject, ...toWire(amounts) }));
  return {
    ...head,
    subjects,
    lines: sums.map(toLine).sort(compareLines),
    corrections: corrections.map((sum) => ({ of_month: sum.ofMonth, ...toLine(sum) }))
      .sort((a, b) => compareNames(a.of_month, b.of_month) || compareLines(a, b)),
    shared_costs: sharedCosts,
    unshared_usd: formatUsd(pool - total.shared),
    total: { model_calls: count("modelCalls"), unpriced_calls: count("unpricedCalls"), ...toWire(total) },
    changes: before ? changesSince(before, subjects) : null,
  };
}

/** Returns the subjects that share costs, with their weights. Calls without the tag have a share of their own cost, but no even one. */
function sharersOf(rule: SharedRule, all: readonly [string | null, Amounts][]) {
  if (rule === "none") return [];
  if (rule === "by-share") return all.map(([subject, { amount }]) => ({ subject, weight: amount }));
  return all.filter(([subject]) => subject !== null).map(([subject]) => ({ subject, weight: 1n }));
}

const toWire = ({ amount, corrections, shared, markup }: Amounts) => ({
  amount_usd: formatUsd(amount),
  corrections_usd: formatUsd(corrections),
  shared_usd: formatUsd(shared),
  markup_usd: formatUsd(markup),
  total_usd: formatUsd(amount + corrections + shared + markup),
});

/** Sorts by name; calls without the tag come last. */
const compareNames = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1;

const compareLines = (a: StatementLine, b: StatementLine): number =>
  compareNames(a.subject, b.subject) || Number(parseTotalUsd(b.amount_usd) - parseTotalUsd(a.amount_usd)) ||
  compareNames(a.provider, b.provider) || compareNames(a.model, b.model);

function changesSince(before: CostStatement, subjects: CostStatement["subjects"]) {
  const totals = (of: CostStatement["subjects"]) =>
    new Map(of.map((each) => [each.subject, parseTotalUsd(each.total_usd)]));
  const [old, now] = [totals(before.subjects), totals(subjects)];
  return [...new Set([...old.keys(), ...now.keys()])].sort(compareNames).flatMap((subject) => {
    const [was, is] = [old.get(subject) ?? 0n, now.get(subject) ?? 0n];
    if (was === is) return [];
    return [{
      subject,
      before_usd: formatUsd(was),
      after_usd: formatUsd(is),
      difference_usd: formatUsd(is - was),
    }];
  });
}
