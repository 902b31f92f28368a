import { EXPORT_FORMATS, FOCUS_VERSIONS } from "../../../contract/values.ts";
import { type Command, flag, option } from "../../command.ts";

const TO = option("DIR|URL", "Folder to write to, or s3://BUCKET/PREFIX", { isFile: true });

/** `purser export calls --to DIR [--format parquet|csv] [--from-position N]` */
export const exportCallsCommand: Command = {
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
export const exportFocusCommand: Command = {
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

export const EXPORT_COMMANDS: readonly Command[] = [exportCallsCommand, exportFocusCommand];
