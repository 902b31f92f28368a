import { PAGE_SIZES } from "../../../contract/limits.ts";
import {
  BILL_SOURCE_NAMES,
  EXPORT_FORMATS,
  FOCUS_VERSIONS,
  SHARED_RULES,
  STATEMENT_FORMATS,
} from "../../../contract/values.ts";
import { arg, type Command, flag, option } from "../../command.ts";

const source = { some: BILL_SOURCE_NAMES };
const month = option("MONTH", "Month of UTC, such as 2026-10, or last-month", { some: ["last-month"] });
const account = option("ACCOUNT", "The provider's account, where there are several");

/** `purser bills …` */
export const BILL_COMMANDS: readonly Command[] = [
  {
    name: "bills import",
    args: [arg("SOURCE", source)],
    summary: "Import a provider's bill",
    detail:
      "Asks the provider's API, with the key of the variable that purser bills sources names, or reads FILE. The lines are seen once all of them are there; " +
      "an import that was cut off goes on where it stopped, and one that is repeated changes only what the provider has changed. Without --month and --since: this month. " +
      "With --file, --month or --since say that FILE has all lines of that time: earlier ones that it lacks are replaced.",
    options: {
      month,
      since: option("WHEN", "Days from WHEN on", { some: ["7d", "month", "last-month"] }),
      until: option("WHEN", "Days before WHEN; up to now if not given"),
      file: option("FILE", "File to read in place of the API; it may be compressed by gzip", {
        isFile: true,
      }),
      account,
      "by-minute": flag("Usage by the minute, where the source has it"),
      columns: option("FIELD=COLUMN,…", "Columns of a CSV file, such as starts_at=Date,amount=Cost"),
    },
    examples: [
      ["purser bills import anthropic --month 2026-10", ""],
      ["purser bills import focus --file focus-2026-10.csv.gz --month 2026-10", ""],
      ["purser bills import csv --file mistral.csv --columns starts_at=Day,model=Model,amount=Cost", ""],
    ],
    run: async (ctx) => await (await import("./import_bill.ts")).importBill(ctx),
  },
  {
    name: "bills list",
    args: [],
    summary: "List imports of bills, newest first",
    options: {
      source: option("SOURCE", "Only those of this source", source),
      limit: option("N", `Maximum number of imports, 1 to ${PAGE_SIZES.billImports.max} (default 20)`),
    },
    examples: [["purser bills list", ""]],
    isReadOnly: true,
    run: async (ctx) => await (await import("./list_bills.ts")).listImports(ctx),
  },
  {
    name: "bills lines",
    args: [],
    summary: "List lines of bills, and their sums",
    detail:
      "Sums are of all lines that match, not only of those shown, and exact to the last decimal: of each currency by itself, without the prices " +
      "of what a subscription or another provider pays for.",
    options: {
      month,
      source: option("SOURCE", "Only those of this source", source),
      account,
      limit: option("N", "Maximum number of lines shown, 0 to 100000 (default 20)"),
    },
    examples: [["purser bills lines --month last-month --source anthropic", ""]],
    isReadOnly: true,
    run: async (ctx) => await (await import("./list_bills.ts")).listLines(ctx),
  },
  {
    name: "bills sources",
    args: [],
    summary: "Show the sources of bills, and the key of each",
    options: {},
    examples: [["purser bills sources", ""], ["purser bills sources --json", "With what each can't show"]],
    needsNoDatabase: true,
    run: async (ctx) => await (await import("./list_bills.ts")).listSources(ctx),
  },
];

/** `purser reconcile …` */
export const RECONCILE_COMMANDS: readonly Command[] = [
  {
    name: "reconcile",
    args: [arg("SOURCE", source)],
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
      source: option("SOURCE", "Only those of this source", source),
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
    options: { source: option("SOURCE", "Only those of this source", source) },
    examples: [["purser reconcile months", ""]],
    isReadOnly: true,
    run: async (ctx) => await (await import("./run_reconcile.ts")).listMonths(ctx),
  },
  {
    name: "reconcile close",
    args: [arg("SOURCE", source)],
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
    args: [arg("SOURCE", source)],
    summary: "Reopen a closed month",
    options: { month, account, reason: option("TEXT", "The reason, which the audit log keeps") },
    examples: [['purser reconcile reopen anthropic --month 2026-10 --reason "a new invoice"', ""]],
    needsDatabase: true,
    run: async (ctx) => await (await import("./run_reconcile.ts")).changeMonth(ctx, "reopen"),
  },
];

const TO = option("DIR|URL", "Folder to write to, or s3://BUCKET/PREFIX", { isFile: true });

/** `purser export calls --to DIR [--format parquet|csv] [--from-position N]` */
const exportCalls: Command = {
  name: "export calls",
  args: [],
  summary: "Archive the ledger's calls as Parquet or CSV",
  detail:
    "Writes every entry of the ledger, calls and their adjustments, in the order of their positions, and a manifest.json with the positions, " +
    "sums and SHA-256 of each file: the sums are those of purser cost. The next export into the same folder adds what is new, also after one " +
    "that was interrupted. s3:// takes the variables of AWS's tools, such as AWS_ACCESS_KEY_ID.",
  options: {
    to: TO,
    format: option("FORMAT", "Format of the files (default parquet)", { oneOf: EXPORT_FORMATS }),
    "from-position": option("N", "First position of a new archive (default 1)"),
  },
  examples: [
    ["purser export calls --to archive", ""],
    ["purser export calls --to s3://acme-finance/purser/calls", "To a bucket"],
  ],
  handlesInterrupt: true,
  isReadOnly: true,
  run: async (ctx) => await (await import("./run_export.ts")).runCallsExport(ctx),
};

/** `purser export focus [--version 1.2|1.4] [--format csv|parquet] [--month M | --since WHEN] [--per-call] [--to DIR|s3://…]` */
const exportFocus: Command = {
  name: "export focus",
  args: [],
  summary: "Export charges in the format FOCUS",
  detail:
    "Writes the dataset Cost and Usage of FOCUS, the FinOps Open Cost and Usage Specification: a row per hour, SKU, API key, agent and tags, " +
    "with exact decimals, and the fees, taxes and credits of imported bills. The default is last month; months and dates are those of UTC. " +
    "Without --to, CSV goes to standard output.",
  options: {
    version: option("VERSION", "Version of FOCUS (default 1.4)", { oneOf: FOCUS_VERSIONS }),
    format: option("FORMAT", "Format of the files (default csv)", { oneOf: EXPORT_FORMATS }),
    month: option("MONTH", "Month, such as 2026-10 (default: last month)"),
    since: option("WHEN", "Only charges since WHEN, as in purser cost", {
      some: ["month", "last-month", "7d"],
    }),
    until: option("WHEN", "Only charges before WHEN", { some: ["today", "month"] }),
    "per-call": flag("Rows for each call, with its ids"),
    to: TO,
  },
  examples: [
    ["purser export focus --month 2026-11", "CSV on standard output"],
    ["purser export focus --month 2026-11 --version 1.2 --format parquet --to focus", "Files and a manifest"],
    ["purser export focus --since 7d --per-call --to s3://acme-finance/purser/focus", ""],
  ],
  handlesInterrupt: true,
  isReadOnly: true,
  run: async (ctx) => await (await import("./run_export.ts")).runFocusExport(ctx),
};

export const EXPORT_COMMANDS: readonly Command[] = [exportCalls, exportFocus];

/** `purser statement --by TAG [--month M] [--markup 5%] [--shared RULE] [--issue | --version N] [--format csv|json|html] [--output FILE]` */
export const statement: Command = {
  name: "statement",
  args: [],
  summary: "Show what each team or customer is charged",
  detail:
    "The costs of a month by the values of a tag, such as team, user, customer or project, and by model, with a markup. Calls without the tag are " +
    "shown apart. The lines of imported bills that are no calls, such as fees and credits, are divided by --shared: by the share of each in the cost, " +
    "evenly, or not at all. --issue keeps the statement as its next version, which says what has changed; what is booked after it is a correction in " +
    "that of a later month. Months are those of the server's time zone.",
  options: {
    by: option("TAG", "Tag by which people are charged, such as team", {
      some: ["team", "user", "customer", "project"],
    }),
    month: option("MONTH", "Month, such as 2026-10 (default: last month)"),
    markup: option("PERCENT", "Percent to add to each amount, 0 to 100, such as 5% (default 0)"),
    shared: option("RULE", "How fees and credits are divided (default by-share)", { oneOf: SHARED_RULES }),
    issue: flag("Keep it as the next version"),
    version: option("N", "Show a version that was issued"),
    format: option("FORMAT", "Format of the output (default: a table)", { oneOf: STATEMENT_FORMATS }),
    output: option("FILE", "File to write; standard output if not given", { isFile: true }),
  },
  examples: [
    ["purser statement --by team --month 2026-10", ""],
    [
      "purser statement --by customer --month 2026-10 --markup 5% --format html --output october.html",
      "To print",
    ],
    ["purser statement --by team --month 2026-10 --issue", ""],
  ],
  run: async (ctx) => await (await import("./run_statement.ts")).runStatement(ctx),
};

/** `purser upstreams list` */
const upstreamsList: Command = {
  name: "upstreams list",
  args: [],
  summary: "List the keys and accounts that pay for calls",
  detail:
    "Each key at a provider by the setting that it came from and a hash of its text, with its calls of the last 30 days. Bills name keys by ids of their own: purser upstreams set tells which one is which.",
  options: {},
  examples: [["purser upstreams list", ""]],
  isReadOnly: true,
  run: async (ctx) => await (await import("../upstreams/run_upstreams.ts")).listUpstreams(ctx),
};

/** `purser upstreams set UPSTREAM` */
const upstreamsSet: Command = {
  name: "upstreams set",
  args: [arg("UPSTREAM")],
  summary: "Set the id by which bills name a key",
  detail: "UPSTREAM is an id of purser upstreams list. The console of the provider lists its ids of keys.",
  options: {
    "key-id": option("ID", "The provider's id of the key, such as apikey_…; empty removes it (required)"),
  },
  examples: [["purser upstreams set ups_04b1c9e2d3a47 --key-id apikey_01Rj2N8S", ""]],
  run: async (ctx) => await (await import("../upstreams/run_upstreams.ts")).setUpstreamKey(ctx),
};

export const UPSTREAM_COMMANDS: readonly Command[] = [upstreamsList, upstreamsSet];
