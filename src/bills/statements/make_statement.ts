import type { SharedRule } from "../../contract/values.ts";
import type { CostStatement, StatementLine } from "../../contract/statements.ts";
import { divideHalfEven, formatUsd, type NanoUsd, parseTotalUsd } from "../../kernel/money.ts";
import type { TaggedSum } from "../../ledger/mod.ts";
import { allot } from "./allot.ts";

/** The decimals of a markup in percent, as an integer. */
const PARTS_PER_PERCENT = 10_000n;

/** A cost of a month that no call has caused, such as a fee. */
export interface SharedCost {
  source: string;
  category: string;
  description: string;
  amountNanoUsd: NanoUsd;
}

/** The sums from which a statement is computed. */
export interface StatementInput {
  /** Its fields that are no sums. */
  head: Omit<
    CostStatement,
    "subjects" | "lines" | "corrections" | "shared_costs" | "unshared_usd" | "total" | "changes"
  >;
  sums: readonly TaggedSum[];
  corrections: readonly (TaggedSum & { ofMonth: string })[];
  sharedCosts: readonly SharedCost[];
  before: CostStatement | undefined;
}

interface Amounts {
  amount: NanoUsd;
  corrections: NanoUsd;
  shared: NanoUsd;
  markup: NanoUsd;
}

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
  const subjectOf = (value: string | null): Amounts => {
    let amounts = bySubject.get(value);
    if (!amounts) bySubject.set(value, amounts = { amount: 0n, corrections: 0n, shared: 0n, markup: 0n });
    return amounts;
  };
  for (const { value, costNanoUsd } of sums) {
    const amounts = subjectOf(value);
    amounts.amount += costNanoUsd;
    amounts.markup += markupOn(costNanoUsd);
  }
  for (const { value, costNanoUsd } of corrections) {
    const amounts = subjectOf(value);
    amounts.corrections += costNanoUsd;
    amounts.markup += markupOn(costNanoUsd);
  }
  const pool = sharedCosts.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
  const sharing = sharersOf(head.shared, [...bySubject]);
  const shares = allot(pool, sharing.map(({ weight }) => weight));
  for (const [index, { amounts }] of sharing.entries()) {
    amounts.shared = shares[index]!;
    amounts.markup += markupOn(shares[index]!);
  }
  const all = [...bySubject.entries()].sort(([a], [b]) => compareNames(a, b));
  const total = all.reduce(
    (sum, [, each]) => ({
      amount: sum.amount + each.amount,
      corrections: sum.corrections + each.corrections,
      shared: sum.shared + each.shared,
      markup: sum.markup + each.markup,
    }),
    { amount: 0n, corrections: 0n, shared: 0n, markup: 0n },
  );
  const count = (of: "modelCalls" | "unpricedCalls") => sums.reduce((sum, each) => sum + each[of], 0);
  const subjects = all.map(([subject, amounts]) => ({ subject, ...toWire(amounts) }));
  return {
    ...head,
    subjects,
    lines: sums.map(toLine).sort(compareLines),
    corrections: corrections.map((sum) => ({ of_month: sum.ofMonth, ...toLine(sum) }))
      .sort((a, b) => compareNames(a.of_month, b.of_month) || compareLines(a, b)),
    shared_costs: sharedCosts.map(({ amountNanoUsd, ...cost }) => ({
      ...cost,
      amount_usd: formatUsd(amountNanoUsd),
    })),
    unshared_usd: formatUsd(pool - total.shared),
    total: { model_calls: count("modelCalls"), unpriced_calls: count("unpricedCalls"), ...toWire(total) },
    changes: before ? changesSince(before, subjects) : null,
  };
}

/** Returns the subjects that share costs, with their weights. Calls without the tag have a share of their own cost, but no even one. */
function sharersOf(rule: SharedRule, all: readonly [string | null, Amounts][]) {
  if (rule === "none") return [];
  const sharers = rule === "even" ? all.filter(([subject]) => subject !== null) : all;
  return sharers.toSorted(([a], [b]) => compareNames(a, b))
    .map(([, amounts]) => ({ amounts, weight: rule === "even" ? 1n : amounts.amount }));
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
