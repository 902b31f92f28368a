import { addBilled } from "../../../bills/lines/mod.ts";
import type { BillLine } from "../../../contract/imports/bills.ts";
import { PAGE_SIZES } from "../../../contract/limits.ts";
import type { CommandContext } from "../../command.ts";
import { readMonth } from "../../parse/parse_month.ts";
import { countOf, formatCount } from "../../render/format_values.ts";
import { hasMore, nextCursor, printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** Runs `purser bills list`. */
export async function listImports(ctx: CommandContext): Promise<void> {
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.billImports.max });
  const { api } = await ctx.connect();
  const query = {
    source: ctx.options.text("source"),
    limit: limit === undefined ? undefined : String(limit),
  };
  const answer = await api.bills.imports.$get({ query });
  await printAnswer(ctx, answer, (imports) => {
    if (imports.length === 0) return "No bill has been imported yet";
    return renderTable(imports, [
      { title: "WHEN (UTC)", cell: ({ created_at }) => created_at.slice(0, 16).replace("T", " ") },
      { title: "SOURCE", cell: ({ source }) => source },
      { title: "ACCOUNT", cell: ({ account }) => account, cutTo: 8, drop: 2 },
      { title: "FROM", cell: ({ from }) => from.slice(0, 10) },
      { title: "TO", cell: ({ to }) => to.slice(0, 10) },
      { title: "STATUS", cell: ({ status }) => status },
      { title: "LINES", align: "right", cell: ({ lines }) => formatCount(lines) },
      { title: "NEW", align: "right", cell: ({ new_lines }) => formatCount(new_lines) },
      { title: "REPLACED", align: "right", cell: ({ revised_lines }) => formatCount(revised_lines), drop: 1 },
      {
        title: "NOT UNDERSTOOD",
        cell: ({ unknown, error }) =>
          error ?? Object.entries(unknown).map(([part, count]) => `${part} (${count})`).join(", "),
        cutTo: 12,
      },
    ], ctx.layout);
  });
  if (!ctx.isJson && hasMore(answer)) {
    ctx.say(`There are more; --limit shows up to ${PAGE_SIZES.billImports.max}`);
  }
}

const DEFAULT_LINES = 20;

/** Runs `purser bills lines`. */
export async function listLines(ctx: CommandContext): Promise<void> {
  const { options, clock } = ctx;
  const limit = options.wholeNumber("limit", { min: 0, max: 100_000 }) ?? DEFAULT_LINES;
  const month = options.read("month", (text) => readMonth(text, clock.now()).month);
  const { api } = await ctx.connect();
  const shown: BillLine[] = [];
  const sums = new Map<string, string>();
  let count = 0;
  let cursor: string | undefined;
  do {
    const answer = await api.bills.lines.$get({
      query: {
        ...{ source: options.text("source"), account: options.text("account"), month, cursor },
        limit: String(PAGE_SIZES.billLines.max),
      },
    });
    const lines = await answer.json();
    for (const line of lines) addBilled(sums, { ...line, isEquivalent: line.is_equivalent });
    shown.push(...lines.slice(0, Math.max(0, limit - shown.length)));
    count += lines.length;
    cursor = nextCursor(answer);
  } while (cursor !== undefined);
  if (ctx.isJson) return ctx.print(JSON.stringify({ lines: shown, count, sums: Object.fromEntries(sums) }));
  if (count === 0) return ctx.print("No lines of bills");
  if (shown.length > 0) ctx.print(renderLines(ctx, shown));
  if (shown.length < count) ctx.say(`${countOf(count, "line")} in all; --limit shows more`);
  for (const [currency, sum] of sums) {
    ctx.print(
      escapeText(`Billed: ${sum} ${currency}${currency === "USD" ? "" : ", which is in no other sum"}`),
    );
  }
}

const renderLines = ({ layout }: CommandContext, lines: readonly BillLine[]): string =>
  renderTable(lines, [
    { title: "STARTS (UTC)", cell: ({ starts_at }) => starts_at.slice(0, 16).replace("T", " ") },
    { title: "SOURCE", cell: ({ source }) => source, drop: 3 },
    { title: "MODEL", cell: ({ model, sku }) => model ?? sku ?? "-", cutTo: 10 },
    {
      title: "PART",
      cell: ({ part, category, sku }) => part ?? (category === "usage" ? sku ?? "-" : category),
      cutTo: 8,
    },
    { title: "KEY", cell: ({ credential, actor }) => credential ?? actor ?? "-", cutTo: 6, drop: 2 },
    {
      title: "QUANTITY",
      align: "right",
      cell: ({ quantity, unit }) => quantity === null ? "-" : `${quantity} ${unit ?? ""}`.trim(),
    },
    {
      title: "AMOUNT",
      align: "right",
      cell: ({ amount, list_amount, currency, is_equivalent }) =>
        amount === null && list_amount === null
          ? "-"
          : `${amount ?? `(${list_amount})`} ${currency}${is_equivalent ? ", not billed" : ""}`,
    },
  ], layout);

/** Runs `purser bills sources`. */
export async function listSources(ctx: CommandContext): Promise<void> {
  const { loadAllSources } = await import("../../../bills/import/mod.ts");
  const sources = await loadAllSources(ctx.config.plugins);
  const rows = sources.map(({ name, title, seen, holes, fetch, readFile }) => ({
    name,
    title,
    reads: [...(fetch ? ["api"] : []), ...(readFile ? ["file"] : [])],
    key: fetch?.key.variable ?? null,
    scope: fetch?.key.scope ?? null,
    seen,
    holes,
  }));
  if (ctx.isJson) return ctx.print(JSON.stringify(rows));
  ctx.print(renderTable(rows, [
    { title: "SOURCE", cell: ({ name }) => name },
    { title: "OF", cell: ({ title }) => title, cutTo: 10, drop: 1 },
    { title: "KEY", cell: ({ key }) => key ?? "(a file)" },
    { title: "IT NEEDS", cell: ({ scope }) => scope ?? "-", cutTo: 12 },
  ], ctx.layout));
  ctx.say("What each can't show is in --json and in docs/bills.md");
}
