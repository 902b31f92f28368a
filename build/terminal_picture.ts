/** `deno task picture`: draws docs/terminal.svg, a terminal with what the commands print now. */
import { join } from "node:path";
import { fixedClock } from "../src/kernel/clock.ts";
import { main } from "../src/cli/mod.ts";
import { memoryTerminal } from "../tests/harness/memory_terminal.ts";
import { ROOT } from "./run_deno.ts";

const COMMANDS = [
  `purser agents set helper --model demo:echo --tool calculator`,
  `purser run helper "What is 17 * 23?" --session sums`,
  `purser agents set looper --model demo:loop --tool calculator --budget 0.0002`,
  `purser run looper "Keep going" --session loop`,
  `purser cost --by agent`,
];
const COLUMNS = 92;
const COLUMN_WIDTH = 8.4;
const LINE_HEIGHT = 19;
const MARGIN = 18;
const TITLE_HEIGHT = 30;
const AT = Date.parse("2026-11-22T09:30:00.000Z");

/** Runs the commands on an empty database, and returns what a terminal of `COLUMNS` columns shows. */
async function record(): Promise<string> {
  const directory = await Deno.makeTempDir();
  const env = { PURSER_DB: join(directory, "purser.db"), PURSER_CONFIG: undefined, HOME: directory };
  let screen = "";
  try {
    for (const command of COMMANDS) {
      screen += `\x1b[2m$\x1b[22m \x1b[1m${command}\x1b[22m\n`;
      const terminal = memoryTerminal({ columns: COLUMNS, hasColour: true });
      const { stdout } = terminal;
      const stderr = { ...stdout, columns: COLUMNS, write: (text: string) => stdout.write(text) };
      await main(words(command), { terminal: { ...terminal, stdout, stderr }, env, clock: fixedClock(AT) });
      screen += terminal.out + "\n";
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  // Ids are random; the picture must change with the commands only.
  return screen.replace(/\brun_[0-9a-z]{26}\b/g, "run_01k9qv3v5e8r6t2y4w7x9z1a3b").trimEnd();
}

/** The words of a command line after `purser`, with the shell's double quotes. */
function words(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!).slice(1);
}

const CLASSES: Record<string, string> = { 1: "b", 2: "d", 31: "r", 32: "g", 33: "y", 36: "c" };
const ENDS: Record<string, readonly string[]> = { 22: ["b", "d"], 39: ["r", "g", "y", "c"] };

/** Returns the lines of a screen as the spans of an SVG, its ANSI codes as classes. */
function toLines(screen: string): string[] {
  const active = new Set<string>();
  return screen.split("\n").flatMap(wrap).map((line) =>
    line.split(/(\p{Cc}\[\d+m)/u).map((part) => {
      const [, code] = /^\p{Cc}\[(\d+)m$/u.exec(part) ?? [];
      if (code === undefined) {
        return part && `<tspan class="${[...active].join(" ")}">${escapeXml(part)}</tspan>`;
      }
      if (CLASSES[code]) active.add(CLASSES[code]);
      for (const ended of ENDS[code] ?? []) active.delete(ended);
      return "";
    }).join("")
  );
}

/** Truncates a line as a terminal does; codes have no width. */
function wrap(line: string): string[] {
  const parts = line.match(/\p{Cc}\[\d+m|./gu) ?? [];
  const lines = [""];
  let width = 0;
  for (const part of parts) {
    if (part.length === 1 && width++ === COLUMNS) {
      lines.push("");
      width = 1;
    }
    lines[lines.length - 1] += part;
  }
  return lines;
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Draws a terminal. */
export async function drawTerminal(): Promise<string> {
  const screen = await record();
  const lines = toLines(screen);
  const width = Math.ceil(COLUMNS * COLUMN_WIDTH + 2 * MARGIN);
  const height = TITLE_HEIGHT + lines.length * LINE_HEIGHT + 2 * MARGIN;
  const text = lines.map((spans, index) =>
    `<text x="${MARGIN}" y="${TITLE_HEIGHT + MARGIN + (index + 0.75) * LINE_HEIGHT}">${spans}</text>`
  );
  const buttons = ["#ff5f57", "#febc2e", "#28c840"].map((colour, index) =>
    `<circle cx="${MARGIN + 6 + index * 20}" cy="${TITLE_HEIGHT / 2 + 3}" r="6" fill="${colour}"/>`
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Purser in a terminal: an agent answers, a budget stops another one, and purser cost shows what both have cost">
<style>
text { font: 14px ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d7dae0; white-space: pre; }
.b { font-weight: 700; fill: #ffffff; } .d { opacity: 0.65; } .r { fill: #ff7b72; } .g { fill: #7ee787; } .y { fill: #e3b341; } .c { fill: #76e3ea; }
</style>
<rect width="${width}" height="${height}" rx="10" fill="#16191f"/>
${buttons.join("\n")}
${text.join("\n")}
</svg>
`;
}

export const PICTURE = join(ROOT, "docs", "terminal.svg");

if (import.meta.main) await Deno.writeTextFile(PICTURE, await drawTerminal());
