import { html } from "hono/html";
import type { CostStatement, StatementLine } from "../../contract/statements.ts";
import { formatCount, nameUncounted } from "../../kernel/counts.ts";
import { groupThousands } from "../../kernel/money.ts";

const STYLE = `@page { size: A4; margin: 18mm 16mm }
* { box-sizing: border-box }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #16181d; background: #fff; font: 10pt/1.45 system-ui, sans-serif }
h1 { font-size: 18pt; margin: 0 0 .2rem } h2 { font-size: 12pt; margin: 1.6rem 0 .4rem; break-after: avoid }
p { margin: .2rem 0 } .meta, .note { color: #4b5260 }
table { width: 100%; border-collapse: collapse; font-size: 9pt } thead { display: table-header-group } tr { break-inside: avoid }
th, td { padding: .28rem .5rem; text-align: left; border-bottom: 1px solid #d9dce2; vertical-align: top; overflow-wrap: anywhere }
th { border-bottom: 1.5px solid #16181d; font-weight: 600 }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; overflow-wrap: normal }
tfoot td { font-weight: 600; border-top: 1.5px solid #16181d; border-bottom: 0 }
@media print { body { margin: 0; max-width: none; padding: 0 } }`;

const escape = (text: string): string => html`${text}`.toString();

const SHARED = {
  "by-share": "by the share of each in the cost",
  "even": "evenly",
  "none": "to no one",
} as const;

interface Cell {
  text: string;
  isNumber?: boolean;
  /** The decimals of an amount. */
  decimals?: number;
}

const text = (value: string): Cell => ({ text: value });
const count = (value: number): Cell => ({ text: formatCount(value), isNumber: true });
const usd = (value: string): Cell => {
  const [whole, fraction = ""] = value.split(".");
  const decimals = Math.max(2, fraction.length);
  return { text: `${groupThousands(whole!)}.${fraction.padEnd(2, "0")}`, isNumber: true, decimals };
};

const row = (cells: readonly Cell[], tag = "td") =>
  `<tr>${
    cells.map((cell) => `<${tag}${cell.isNumber ? ' class="n"' : ""}>${escape(cell.text)}</${tag}>`).join("")
  }</tr>`;

function table(
  title: string,
  head: readonly Cell[],
  rows: readonly (readonly Cell[])[],
  foot?: readonly Cell[],
): string {
  if (rows.length === 0) return "";
  // Amounts of one column have the same decimals, so that they can be compared at sight.
  const all = [...rows, ...foot ? [foot] : []];
  for (const [column] of head.entries()) {
    const amounts = all.map((cells) => cells[column]!).filter(({ decimals }) => decimals !== undefined);
    const most = Math.max(...amounts.map(({ decimals }) => decimals!));
    for (const amount of amounts) amount.text += "0".repeat(most - amount.decimals!);
  }
  return `<h2>${escape(title)}</h2>\n<table><thead>${row(head, "th")}</thead>\n<tbody>${
    rows.map((cells) => row(cells)).join("\n")
  }</tbody>${foot ? `\n<tfoot>${row(foot)}</tfoot>` : ""}</table>`;
}

const number = (title: string): Cell => ({ text: title, isNumber: true });

/** Returns a statement as one page of HTML that can be printed: without scripts, and with nothing from elsewhere. */
export function renderStatementHtml(statement: CostStatement): string {
  const { month, by, version, issued_at, time_zone, markup_percent, shared, total, subjects } = statement;
  const nameOf = (subject: string | null) => text(subject ?? `(no ${by})`);
  const amounts = ["Amount", "Corrections", "Shared", "Markup", "Total"].map(number);
  const amountsOf = (each: Omit<CostStatement["subjects"][number], "subject">) =>
    [each.amount_usd, each.corrections_usd, each.shared_usd, each.markup_usd, each.total_usd].map(usd);
  const lineHead = [text("Model"), ...["Calls", "Tokens", "Amount", "Markup", "Total"].map(number)];
  const lineOf = (line: StatementLine) => [
    text(`${line.provider}:${line.model}`),
    count(line.model_calls),
    count(line.total_tokens),
    ...[line.amount_usd, line.markup_usd, line.total_usd].map(usd),
  ];
  const lines = subjects.map(({ subject }) =>
    table(
      nameOf(subject).text,
      lineHead,
      statement.lines.filter((line) => line.subject === subject).map(lineOf),
    )
  );
  const notes = [
    total.unpriced_calls > 0 &&
    `Not in the amounts: ${nameUncounted({ unpriced: total.unpriced_calls, partlyPriced: 0 })}.`,
    statement.shared_costs.length > 0 &&
    `Shared costs are divided ${SHARED[shared]}; ${
      usd(statement.unshared_usd).text
    } USD are charged to no subject.`,
  ].filter((note) => note !== false);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Statement ${escape(month)} by ${escape(by)}</title><style>${STYLE}</style></head>
<body><main><h1>Statement of ${escape(month)} by ${escape(by)}</h1>
<p class="meta">${version === null ? "Draft" : `Version ${version}, issued ${escape(issued_at!)}`} · ${
    escape(statement.from)
  } to ${escape(statement.to)} (${escape(time_zone)}) · markup ${
    escape(markup_percent)
  } % · amounts in USD</p>
${notes.map((note) => `<p class="note">${escape(note)}</p>`).join("\n")}
${
    table(
      "Totals",
      [text(by), ...amounts],
      subjects.map((each) => [nameOf(each.subject), ...amountsOf(each)]),
      [text("Total"), ...amountsOf(total)],
    )
  }
${
    table(
      `Changes since version ${version === null ? statement.latest_version : version - 1}`,
      [text(by), ...["Before", "Now", "Difference"].map(number)],
      (statement.changes ?? []).map((change) => [
        nameOf(change.subject),
        ...[change.before_usd, change.after_usd, change.difference_usd].map(usd),
      ]),
    )
  }
${lines.filter(Boolean).join("\n")}
${
    table(
      "Corrections of earlier months",
      [text("Month"), text(by), ...lineHead],
      statement.corrections.map((line) => [text(line.of_month), nameOf(line.subject), ...lineOf(line)]),
    )
  }
${
    table(
      "Shared costs",
      [...["Source", "Category", "Description"].map(text), number("Amount")],
      statement.shared_costs.map(({ source, category, description, amount_usd, of_month }) => [
        ...[source, category, of_month ? `${description}, correction of ${of_month}` : description].map(text),
        usd(amount_usd),
      ]),
    )
  }
</main></body></html>
`;
}
