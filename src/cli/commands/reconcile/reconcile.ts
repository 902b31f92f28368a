import { PAGE_SIZES } from "../../../contract/limits.ts";
import { arg, type Command, flag, option } from "../../command.ts";
import { BUILT_IN_SOURCES } from "../bills/bills.ts";

const source = arg("SOURCE", { some: BUILT_IN_SOURCES });
const month = option("MONTH", "Month of UTC, such as 2026-10, or last-month", { some: ["last-month"] });
const account = option("ACCOUNT", "The provider's account, where there are several");

/** `purser reconcile …` */
export const RECONCILE_COMMANDS: readonly Command[] = [
  {
    name: "reconcile",
    args: [source],
    summary: "Compare a provider's bill with the ledger",
    detail:
      "Each difference gets its cause: see docs/reconciliation.md. Without --month: last month. The exit code is 1 if more than --limit is unexplained; " +
      "without --limit, more than rounding can make. With --correct, estimates that the bill proves to be others are corrected.",
    options: {
      month,
      account,
      limit: option("USD", "What may stay unexplained"),
      correct: flag("Correct estimates by the bill"),
    },
    examples: [
      ["purser reconcile anthropic --month 2026-10", ""],
      ["purser reconcile openai --limit 0.50", "In a job that fails if more is unexplained"],
    ],
    needsDatabase: true,
    run: async (ctx) => await (await import("./run_reconcile.ts")).runReconcile(ctx),
  },
  {
    name: "reconcile list",
    args: [],
    summary: "List comparisons of bills, newest first",
    options: {
      source: option("SOURCE", "Only those of this source", { some: BUILT_IN_SOURCES }),
      limit: option("N", `Maximum number of rows, 1 to ${PAGE_SIZES.repricings.max} (default 100)`),
    },
    examples: [["purser reconcile list", ""]],
    isReadOnly: true,
    run: async (ctx) => await (await import("./run_reconcile.ts")).listReconciliations(ctx),
  },
  {
    name: "reconcile show",
    args: [arg("REC_ID")],
    summary: "Show a comparison with its differences",
    options: {},
    examples: [["purser reconcile show rec_42", ""]],
    isReadOnly: true,
    run: async (ctx) => await (await import("./run_reconcile.ts")).showReconciliation(ctx),
  },
  {
    name: "reconcile undo",
    args: [arg("REC_ID")],
    summary: "Take back the corrections of a comparison",
    options: {},
    examples: [["purser reconcile undo rec_42", ""]],
    needsDatabase: true,
    run: async (ctx) => await (await import("./run_reconcile.ts")).undoCorrections(ctx),
  },
  {
    name: "reconcile months",
    args: [],
    summary: "List the months of bills and their states",
    options: { source: option("SOURCE", "Only those of this source", { some: BUILT_IN_SOURCES }) },
    examples: [["purser reconcile months", ""]],
    isReadOnly: true,
    run: async (ctx) => await (await import("./run_reconcile.ts")).listMonths(ctx),
  },
  {
    name: "reconcile close",
    args: [source],
    summary: "Close a month as it was compared last",
    detail:
      "A closed month never changes: what its provider or a late call changes afterwards is a correction in the next open month. " +
      "Before the provider's bill is final, the month is closed softly: it can be compared and closed again.",
    options: { month, account },
    examples: [["purser reconcile close anthropic --month 2026-10", ""]],
    needsDatabase: true,
    run: async (ctx) => await (await import("./run_reconcile.ts")).changeMonth(ctx, "close"),
  },
  {
    name: "reconcile reopen",
    args: [source],
    summary: "Reopen a closed month",
    options: { month, account, reason: option("TEXT", "The reason, which the audit log keeps") },
    examples: [['purser reconcile reopen anthropic --month 2026-10 --reason "a new invoice"', ""]],
    needsDatabase: true,
    run: async (ctx) => await (await import("./run_reconcile.ts")).changeMonth(ctx, "reopen"),
  },
];
