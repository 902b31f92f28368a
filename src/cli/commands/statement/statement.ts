import { SHARED_RULES, STATEMENT_FORMATS } from "../../../contract/values.ts";
import { type Command, flag, option } from "../../command.ts";

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
