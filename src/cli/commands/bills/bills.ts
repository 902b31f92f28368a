import { PAGE_SIZES } from "../../../contract/limits.ts";
import { arg, type Command, flag, option } from "../../command.ts";

/** The names of the built-in sources, for completion: their registry is loaded by the command's body. */
export const BUILT_IN_SOURCES = [
  ...[
    "anthropic",
    "anthropic-claude-code",
    "anthropic-legacy",
    "copilot",
    "csv",
    "cursor",
    "focus",
    "openai",
  ],
  ...["openrouter", "openrouter-activity", "vercel"],
];

const source = { some: BUILT_IN_SOURCES };
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
    isReadOnly: true,
    needsNoDatabase: true,
    run: async (ctx) => await (await import("./list_bills.ts")).listSources(ctx),
  },
];
