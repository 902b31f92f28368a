import { toUsd } from "../../../kernel/money.ts";
import type { CommandContext } from "../../command.ts";
import { formatAmounts, planColumn } from "../../render/format_cost.ts";
import { countOf, formatBytes, formatCount } from "../../render/format_values.ts";
import { type Column, renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { wrapText } from "../../terminal/wrap_text.ts";
import type { FoundAgent, ImportedAgent, ImportRequest } from "./import.ts";

/** Renders the logs that were found: `Claude Code: 12 files, 3.1 MB in ~/.claude/projects`. */
export function renderFound(agents: readonly FoundAgent[], home: string): string {
  const short = (path: string) => path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  return agents.map(({ importer, found: { roots, logs } }) => {
    const bytes = logs.reduce((sum, { size }) => sum + size, 0);
    const used = roots.filter((root) =>
      logs.some(({ path }) => path === root || path.startsWith(`${root}/`))
    );
    const folders = used.map((root) => escapeText(short(root))).join(", ");
    return `${importer.title}: ${countOf(logs.length, "file")}, ${formatBytes(bytes)} in ${folders}`;
  }).join("\n");
}

type Row = ImportedAgent["tally"] & { title: string };

/** Renders the outcome of an import: a table of agents, and below it what was left out and why. */
export function renderImport(
  ctx: Pick<CommandContext, "layout" | "style" | "terminal">,
  imported: readonly ImportedAgent[],
  isDryRun: boolean,
): string {
  const { layout, style, terminal } = ctx;
  const rows = imported.map(({ importer, tally }): Row => ({ title: importer.title, ...tally }));
  const amounts = formatAmounts(rows.map(({ costNanoUsd }) => costNanoUsd < 0n ? -costNanoUsd : costNanoUsd));
  const isUnpriced = ({ booked, unpriced }: Row) => booked > 0 && unpriced === booked;
  const costOf = (row: Row) =>
    isUnpriced(row) ? "no price" : (row.costNanoUsd < 0n ? "-" : "") + amounts[rows.indexOf(row)]!;
  const count = (title: string, of: (row: Row) => number, drop: number): Column<Row>[] =>
    drop > 0 && rows.every((row) => of(row) === 0)
      ? []
      : [{ title, align: "right", cell: (row) => formatCount(of(row)), ...drop > 0 && { drop } }];
  const table = renderTable(rows, [
    { title: "AGENT", cell: ({ title }) => title, cutTo: 10 },
    ...count(isDryRun ? "TO BOOK" : "BOOKED", ({ booked }) => booked, 0),
    { title: "COST", align: "right", cell: costOf },
    ...planColumn(rows, ({ planNanoUsd }) => planNanoUsd),
    ...count("KNOWN", ({ known }) => known, 1),
    ...count("AMENDED", ({ amended }) => amended, 2),
    ...count("CONFLICTS", ({ conflicts }) => conflicts, 2),
    ...count("UNPRICED", ({ unpriced }) => unpriced, 3),
    ...count("UNMETERED", ({ unmetered }) => unmetered, 4),
    ...count("MALFORMED", ({ malformed }) => malformed, 5),
  ], layout);
  const lines = imported.flatMap(({ importer, tally }) => [
    ...tally.ahead > 0
      ? [
        `${importer.title}: ${
          countOf(tally.ahead, "call")
        } more than five minutes ahead of this clock left out`,
      ]
      : [],
    ...tally.before > 0
      ? [`${importer.title}: ${countOf(tally.before, "call")} before --since left out`]
      : [],
    ...hasNothing(tally)
      ? [
        `${importer.title}: no call was found in ${
          countOf(tally.files, "file")
        }; if it has made some, it writes them in a form that this version of Purser doesn't know`,
      ]
      : [],
    ...describeFaults(importer.title, tally),
    ...tally.notes.map((note) => `${importer.title}: ${note}`),
    ...Object.entries(tally.unknown).map(([part, count]) =>
      `${importer.title}: not understood: ${part} (${formatCount(count)})`
    ),
  ]);
  const bounds = imported.flatMap(({ importer, tally }) =>
    importer.holes.length > 0 && tally.booked + tally.amended > 0 ? [importer] : []
  );
  if (bounds.length === 1) lines.push(`${bounds[0]!.title} is a lower bound. ${bounds[0]!.holes.join(" ")}`);
  if (bounds.length > 1) {
    const titles = bounds.map(({ title }) => title).join(", ");
    lines.push(`Lower bounds, since their logs leave calls out: ${titles}; purser sources says which calls`);
  }
  const { columns = Infinity } = terminal.stdout;
  return [table, ...lines.flatMap((line) => wrapText(escapeText(line), columns)).map(style.dim)].join("\n");
}

/** Returns whether all files were read, and nothing in them is, or may be, a call. */
const hasNothing = (
  { files, bytes, changedFiles, booked, known, unmetered, malformed, before, ahead }: ImportedAgent["tally"],
) => bytes > 0 && changedFiles === files && booked + known + unmetered + malformed + before + ahead === 0;

const MAX_SHOWN = 3;

/** Describes the first different faults, each with a file that has it. */
function describeFaults(title: string, { faults, unmetered, malformed }: ImportedAgent["tally"]): string[] {
  const first = faults.filter(({ reason }, index) =>
    faults.findIndex((other) => other.reason === reason) === index
  );
  const left = unmetered + malformed - Math.min(first.length, MAX_SHOWN);
  return [
    ...first.slice(0, MAX_SHOWN).map(({ path, reason }) =>
      `${title}: left out: ${reason}${path && ` (${path})`}`
    ),
    ...left > 0 && first.length > 0 ? [`${title}: and ${countOf(left, "more record")} left out`] : [],
  ];
}

/** Returns the outcome of an import as `--json` prints it. */
export function toWire(
  { machineName }: ImportRequest,
  imported: readonly ImportedAgent[],
  isDryRun: boolean,
) {
  return {
    machine: machineName,
    dry_run: isDryRun,
    agents: imported.map(({ importer, found: { roots }, tally }) => ({
      agent: importer.name,
      title: importer.title,
      folders: roots,
      files: tally.files,
      bytes: tally.bytes,
      changed_files: tally.changedFiles,
      booked: tally.booked,
      known: tally.known,
      amended: tally.amended,
      conflicts: tally.conflicts,
      unpriced: tally.unpriced,
      cost_usd: tally.booked > 0 && tally.unpriced === tally.booked ? null : toUsd(tally.costNanoUsd),
      ...tally.planNanoUsd !== 0n && { plan_usd: toUsd(tally.planNanoUsd) },
      unmetered: tally.unmetered,
      malformed: tally.malformed,
      before_since: tally.before,
      ahead: tally.ahead,
      unreadable: tally.unreadable,
      faults: tally.faults,
      notes: tally.notes,
      unknown: tally.unknown,
      lower_bound: importer.holes.length > 0,
      holes: importer.holes,
    })),
  };
}
