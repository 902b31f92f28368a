import { DAY_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { isRecord } from "../../kernel/records.ts";
import type { BillLine } from "../lines/bill_line.ts";
import { movePoint, parseDecimal } from "../lines/decimal.ts";
import type { BillPage } from "./bill_source.ts";

/** The fields of an object of an answer, in which each number is a text. */
export type Fields = Readonly<Record<string, unknown>>;

/** Collects the lines of an answer or a file, and counts what is not understood instead of guessing it. */
export class Answer {
  readonly lines: BillLine[] = [];
  readonly unknown: Record<string, number> = {};

  /** Counts a part that is not understood. */
  count(part: string): void {
    const short = part.slice(0, 200);
    const isKnown = Object.hasOwn(this.unknown, short) || Object.keys(this.unknown).length < 100;
    const name = isKnown ? short : "others";
    this.unknown[name] = (this.unknown[name] ?? 0) + 1;
  }

  /** Returns the fields of an object, and counts those that have a value and aren't known; without `known`, all are. */
  fields(value: unknown, what: string, known?: readonly string[]): Fields {
    if (!isRecord(value)) {
      throw new PurserError("provider_error", `Cannot read the answer: ${what} is no object`);
    }
    for (const [name, field] of Object.entries(value)) {
      if (field !== null && known?.includes(name) === false) this.count(`field ${what}.${name}`);
    }
    return value;
  }

  /** Returns the entries of a list. */
  list(value: unknown, what: string): unknown[] {
    if (!Array.isArray(value)) {
      throw new PurserError("provider_error", `Cannot read the answer: ${what} is no list`);
    }
    return value;
  }

  /** Adds a line for each part with a count other than 0, by the names of parts. */
  addParts(line: BillLine, parts: Readonly<Record<string, unknown>>): void {
    for (const [part, count] of Object.entries(parts)) {
      const quantity = textOf(count);
      const { units } = quantity === undefined
        ? { units: 0n }
        : parseDecimal(quantity, `the count of ${part}`);
      if (quantity === undefined || units === 0n) continue;
      if (units < 0n) this.count(`negative ${part}`);
      const unit = part.endsWith("_tokens") ? "tokens" : part.replace(/^.*_/, "");
      this.lines.push({ ...line, part, quantity, unit });
    }
  }

  /** Returns the page of what was collected. */
  page(more: Omit<BillPage, "lines" | "unknown"> = {}): BillPage {
    return { lines: this.lines, unknown: this.unknown, ...more };
  }
}

/** Reads an answer of the form `{data, has_more, next_page}`; `known` are further fields of it. */
export function readEntries(
  body: unknown,
  add: (answer: Answer, entry: unknown) => void,
  known: readonly string[] = [],
): BillPage {
  const answer = new Answer();
  const { data, has_more, next_page } = answer.fields(body, "answer", [
    ...["data", "has_more", "next_page"],
    ...known,
  ]);
  for (const entry of answer.list(data, "data")) add(answer, entry);
  return answer.page({ next: textOf(has_more) === "true" ? textOf(next_page) : undefined });
}

/** Returns the dimensions that a row states; undefined without any. */
export function statedOf(named: Readonly<Record<string, unknown>>): Record<string, string> | undefined {
  const texts = Object.entries(named).map(([name, value]) => [name, textOf(value)] as const);
  const stated = texts.filter((pair): pair is readonly [string, string] => pair[1] !== undefined);
  return stated.length === 0 ? undefined : Object.fromEntries(stated);
}

/** Returns a text or the text of a number; undefined for an empty one and any other value. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns a time in milliseconds since the epoch, of a date, of a time with its zone, or of seconds. Throws for any other value. */
export function timeOf(value: unknown, what: string): number {
  const text = textOf(value) ?? "";
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isZoned = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text);
  const at = isDay
    ? Date.parse(`${text}T00:00:00Z`)
    : isZoned
    ? Date.parse(text.replace(" ", "T"))
    : secondsOf(text);
  if (Number.isNaN(at)) {
    throw new PurserError(
      "provider_error",
      `Cannot read the answer: ${what} is no time: ${text.slice(0, 40)}`,
    );
  }
  return at;
}

const secondsOf = (text: string) =>
  /^\d{9,10}$/.test(text) ? Number(text) * 1_000 : /^\d{13}$/.test(text) ? Number(text) : NaN;

/** Returns an amount of cents as one of dollars; undefined where none is stated. */
export function dollarsOf(cents: unknown): string | undefined {
  const text = textOf(cents);
  return text === undefined ? undefined : movePoint(text, -2, "an amount in cents");
}

/** Subtracts counts that are parts of another one; undefined where the sum isn't known. */
export function minus(sum: unknown, ...parts: unknown[]): string | undefined {
  const text = textOf(sum);
  if (text === undefined) return undefined;
  const whole = (value: unknown) => {
    const { units, scale } = parseDecimal(textOf(value) ?? "0", "a count of the answer");
    return units / 10n ** BigInt(scale);
  };
  return String(parts.reduce((rest: bigint, part) => rest - whole(part), whole(text)));
}

/** Splits a window into ones of at most `days` days. */
export function windowsOf(
  { from, to }: { from: number; to: number },
  days: number,
): { from: number; to: number }[] {
  const windows: { from: number; to: number }[] = [];
  for (let at = from; at < to; at += days * DAY_MS) {
    windows.push({ from: at, to: Math.min(to, at + days * DAY_MS) });
  }
  return windows;
}
