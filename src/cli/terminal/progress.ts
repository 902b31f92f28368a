import type { CommandContext } from "../command.ts";
import { formatBytes, formatCount, renderBar } from "../render/format_values.ts";

/** A progress line on a terminal. */
export interface Progress {
  /** Shows the amount that is done. */
  reach(done: number): void;
  /** Changes the label, after the countable part. */
  label(text: string): void;
  /** Removes the line. */
  end(): void;
}

/** The delay before the line is shown. */
const QUIET_MS = 1_000;
const REDRAW_MS = 100;
const BAR_WIDTH = 24;

/** Creates a progress line on standard error, if that is a terminal. */
export function createProgress(
  { terminal: { stderr, hasUnicode }, clock, isJson }: Pick<CommandContext, "terminal" | "clock" | "isJson">,
  { label, total, unit }: {
    label: string;
    total: number | undefined;
    unit: "messages" | "bytes" | "rows" | "days";
  },
): Progress {
  const startedAt = clock.monotonic();
  let drawnAt = startedAt + QUIET_MS - REDRAW_MS;
  let isShown = false;
  let done = 0;
  const draw = () => {
    if (!stderr.isTerminal || isJson) return;
    const now = clock.monotonic();
    if (now - drawnAt < REDRAW_MS) return;
    drawnAt = now;
    isShown = true;
    const columns = stderr.columns ?? 80;
    stderr.write(`\r\x1b[K${renderProgress({ label, done, total, unit, hasUnicode }).slice(0, columns - 1)}`);
  };
  return {
    reach(value) {
      done = value;
      draw();
    },
    label(text) {
      label = text;
      draw();
    },
    end() {
      if (isShown) stderr.write("\r\x1b[K");
    },
  };
}

/** Renders the line: `Exporting ████▌      45 %  4,500 of 10,000 messages`. */
export function renderProgress(
  { label, done, total, unit, hasUnicode }: {
    label: string;
    done: number;
    total: number | undefined;
    unit: "messages" | "bytes" | "rows" | "days";
    hasUnicode: boolean;
  },
): string {
  const amount = (value: number) => unit === "bytes" ? formatBytes(value) : `${formatCount(value)} ${unit}`;
  if (!total) return `${label} ${amount(done)}`;
  const part = Math.min(1, done / total);
  const bar = renderBar(part, BAR_WIDTH, hasUnicode).padEnd(BAR_WIDTH, hasUnicode ? "░" : ".");
  return `${label} ${bar} ${String(Math.floor(part * 100)).padStart(3)} %  ${amount(done)} of ${
    amount(total)
  }`;
}
