import { SHARED_RULES, STATEMENT_FORMATS } from "../../../contract/values.ts";
import type { CostStatement } from "../../../contract/statements.ts";
import { parseTotalUsd } from "../../../kernel/money.ts";
import type { CommandContext } from "../../command.ts";
import { readMonth } from "../../parse/parse_month.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { formatAmounts } from "../../render/format_cost.ts";
import { countOf } from "../../render/format_values.ts";
import { type Column, renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";

const MAX_VERSION = 100_000;

export async function runStatement(ctx: CommandContext): Promise<void> {
  const { options, clock, isJson, terminal: { stdout } } = ctx;
  const by = options.text("by");
  if (!by) {
    throw new UsageError(
      "Cannot make a statement: --by is missing; name a tag, such as team",
      options.command,
    );
  }
  const version = options.wholeNumber("version", { min: 1, max: MAX_VERSION });
  if (version !== undefined && options.has("issue")) {
    throw new UsageError("Cannot use --version with --issue: the next version is issued", options.command);
  }
  const read = (text: string) => readMonth(text, clock.now());
  const { month } = options.read("month", read) ?? read("last-month");
  const markup = options.read("markup", parseMarkup);
  const shared = options.oneOf("shared", SHARED_RULES);
  const chosen = options.oneOf("format", STATEMENT_FORMATS);
  const output = options.text("output");
  const format = isJson ? "json" : chosen ?? (output === undefined ? undefined : "csv");
  const { api } = await ctx.connect();
  const query = { month, by, markup, shared };
  const answer = options.has("issue")
    ? await api.statements.$post({ json: query })
    : await api.statements.$get({
      query: { ...query, version: version === undefined ? undefined : String(version) },
    });
  const statement = await answer.json();
  const text = await render(ctx, statement, format);
  if (output !== undefined) {
    const { writeFile } = await import("../../../snapshots/files/mod.ts");
    await writeFile(output, new Blob([text]).stream());
    ctx.say(`Wrote ${describe(statement)} to ${escapeText(output)}`);
  } else if (format === "html" || format === "csv") stdout.write(text, "document");
  else ctx.print(text.trimEnd());
  if (statement.total.unpriced_calls > 0) {
    ctx.warn(
      `${countOf(statement.total.unpriced_calls, "call")} without a known price: they are not in the amounts`,
    );
  }
}

/** Reads `5%` or `5` as `5`. */
function parseMarkup(text: string): string {
  const [, percent] = /^(\d{1,3}(?:\.\d{1,4})?)%?$/.exec(text) ?? [];
  if (percent === undefined || Number(percent) > 100) {
    throw new Error(`${text || "an empty value"} is not a percentage from 0 to 100; write 5% or 2.5%`);
  }
  return percent;
}

const describe = ({ month, by, version }: CostStatement) =>
  `${version === null ? "a draft" : `version ${version}`} of the statement of ${month} by ${by}`;

async function render(
  ctx: CommandContext,
  statement: CostStatement,
  format: typeof STATEMENT_FORMATS[number] | undefined,
): Promise<string> {
  if (format === "json") return JSON.stringify(statement, null, ctx.isJson ? undefined : 2) + "\n";
  if (format === undefined) return renderTables(ctx, statement);
  const { renderStatementCsv, renderStatementHtml } = await import("../../../bills/statements/mod.ts");
  return format === "csv" ? renderStatementCsv(statement) : renderStatementHtml(statement);
}

type SubjectRow = CostStatement["subjects"][number];

/** Returns the totals of subjects and what has changed, as tables of a terminal. */
function renderTables({ layout }: Pick<CommandContext, "layout">, statement: CostStatement): string {
  const { by, subjects, total, changes, version, markup_percent, unshared_usd } = statement;
  const nameOf = (subject: string | null) => subject === null ? `(no ${by})` : escapeText(subject);
  const rows = [...subjects.map((each) => ({ ...each, name: nameOf(each.subject) })), {
    ...total,
    name: "TOTAL",
  }];
  const column = (
    title: string,
    of: (row: Omit<SubjectRow, "subject">) => string,
  ): Column<typeof rows[number]>[] => {
    if (title !== "TOTAL" && rows.every((row) => of(row) === "0")) return [];
    const cells = formatAmounts(rows.map((row) => parseTotalUsd(of(row))));
    return [{ title, align: "right", cell: (row) => cells[rows.indexOf(row)]! }];
  };
  const table = renderTable(rows, [
    { title: by.toUpperCase(), cell: ({ name }) => name, cutTo: 12 },
    ...column("AMOUNT", (row) => row.amount_usd),
    ...column("CORRECTIONS", (row) => row.corrections_usd),
    ...column("SHARED", (row) => row.shared_usd),
    ...column(`MARKUP ${markup_percent}%`, (row) => row.markup_usd),
    ...column("TOTAL", (row) => row.total_usd),
  ], layout);
  const head = `${describe(statement)}: ${countOf(total.model_calls, "call")}`;
  const changed = (changes ?? []).map((change) =>
    `${nameOf(change.subject)}: ${change.before_usd} -> ${change.after_usd} (${change.difference_usd})`
  );
  const since = version === null ? statement.latest_version : version - 1;
  return [
    head[0]!.toUpperCase() + head.slice(1),
    table,
    ...(unshared_usd === "0" ? [] : [`Not divided: ${unshared_usd} USD of shared costs`]),
    ...(changed.length === 0 ? [] : [`Changes since version ${since}, in USD:`, ...changed]),
  ].join("\n");
}
