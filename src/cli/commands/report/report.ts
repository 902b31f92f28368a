import { MAX_REPORTED_CALLS } from "../../../contract/limits.ts";
import { arg, type Command, type CommandContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { fetchStream } from "../../fetch_stream.ts";
import { countOf, formatCount } from "../../render/format_values.ts";
import { createStyle } from "../../terminal/style.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import type { BadLine, Tally } from "./report_lines.ts";

/** The bounds of one request: calls as the API takes them, and bytes well below a server's limit of a body. */
const LIMITS = { calls: MAX_REPORTED_CALLS, bytes: 1024 * 1024 };

/** The bad lines that are named one by one. */
const MAX_NAMED = 100;
/** The bad lines that the result for `--json` has. */
const MAX_LISTED = 1_000;

/** `purser report FILE` */
export const report: Command = {
  name: "report",
  args: [arg("FILE", { isFile: true })],
  summary: "Book calls made elsewhere, from JSON lines",
  detail:
    "Each line is a call in the format of POST /costs/events; - is standard input. A call is booked once by its " +
    "call_id, so a report can be repeated. An invalid line is reported and skipped; all others are booked. Exit " +
    "code 1 if any line is invalid.",
  options: {},
  examples: [
    ["purser report calls.jsonl", ""],
    ["my-exporter | purser report - --server https://purser.example.com", "To a server, from a pipe"],
  ],
  run: reportCalls,
};

async function reportCalls(ctx: CommandContext): Promise<number> {
  const [path] = ctx.args as [string];
  const { readChunks } = await import("../../../kernel/files/read_chunks.ts");
  const { readLines } = await import("./read_lines.ts");
  const { addTally, reportLines } = await import("./report_lines.ts");
  const total: Tally = { booked: 0, duplicates: 0, unpriced: 0 };
  const bad: BadLine[] = [];
  let badCount = 0;
  let doneLines = 0;
  // Before the database is opened: a missing report must not create a database.
  const chunks = path === "-" ? ctx.terminal.stdin() : readChunks(path, "the calls in");
  const lines = await startReading(readLines(chunks, LIMITS.bytes));
  const connection = await ctx.connect();
  try {
    await reportLines(lines, {
      limits: LIMITS,
      async post(body) {
        const headers = { "content-type": "application/json" };
        const request = new Request("http://purser.invalid/costs/events", { method: "POST", headers, body });
        return await (await fetchStream(connection, request)).json();
      },
      onBatch({ bad: found, lastLine, ...tally }) {
        addTally(total, tally);
        doneLines = lastLine;
        for (const line of found) {
          badCount++;
          if (bad.length < MAX_LISTED) bad.push(line);
          if (badCount <= MAX_NAMED) nameBadLine(ctx, line);
        }
      },
    });
  } catch (error) {
    if (!ctx.isJson && total.booked + total.duplicates + (total.amended ?? 0) > 0) {
      ctx.say(`${describe(total)}; repeat the report to book the rest`);
    }
    throw error;
  }
  if (ctx.isJson) ctx.print(JSON.stringify({ lines: doneLines, ...total, bad_lines: badCount, bad }));
  else {
    if (badCount > MAX_NAMED) ctx.say(`and ${countOf(badCount - MAX_NAMED, "more bad line")}`);
    const badText = badCount === 0
      ? ""
      : `; ${countOf(badCount, "bad line")} ${badCount === 1 ? "was" : "were"} left out`;
    ctx.print(describe(total) + badText);
  }
  return badCount === 0 ? EXIT.done : EXIT.failed;
}

/** Reads the first item, so that a source that can't be read fails now; returns all items. */
async function startReading<Item>(items: AsyncGenerator<Item>): Promise<AsyncIterable<Item>> {
  const first = await items.next();
  return (async function* () {
    if (first.done) return;
    yield first.value;
    yield* items;
  })();
}

function nameBadLine({ isJson, terminal: { stderr } }: CommandContext, { line, problems }: BadLine): void {
  if (isJson) return;
  const mark = createStyle(stderr.hasColour).red("error:");
  stderr.write(`${mark} Line ${line}: ${escapeText(problems.join("; "))}\n`);
}

/** Describes what was booked: `Booked 2 calls, 1 of them without a price; 1 call was corrected; 3 calls were booked before`. */
function describe({ booked, duplicates, amended = 0, unpriced }: Tally): string {
  const without = unpriced === 0 ? "" : `, ${formatCount(unpriced)} of them without a price`;
  const and = (calls: number, what: string) =>
    calls === 0 ? "" : `; ${countOf(calls, "call")} ${calls === 1 ? "was" : "were"} ${what}`;
  return `Booked ${countOf(booked, "call")}${without}${and(amended, "corrected")}${
    and(duplicates, "booked before")
  }`;
}
