import { isRecord } from "../../../kernel/records.ts";
import { type Usage, usageOf } from "../../../pricing/mod.ts";
import { faultOfUsage } from "../../../pricing/usage/mod.ts";
import type { AttributeValue, TelemetryRecord } from "../records.ts";
import type { Counts, Dialect, Match, Names, Rule } from "./dialect.ts";

/* The engine that reads records by the tables of their dialects. */

/** The most characters of an attribute that is parsed. */
const MAX_PARSED = 1_000_000;
const MAX_NAME = 1_000;

/** The attributes of a record, and the fields of those of them that are JSON or Python's repr. */
export class AttributeReader {
  #parsed?: Map<string, unknown>;

  constructor(readonly record: TelemetryRecord, private readonly texts: Dialect["texts"]) {}

  /** Returns a value that is there and isn't null. */
  get(name: string): unknown {
    const value = this.record.attributes.get(name) ?? undefined;
    if (value !== undefined) return value;
    if (name === "@name") return this.record.name;
    const path = this.texts === undefined ? null : pathOf(name, this.texts);
    return path === null ? undefined : this.#fieldOf(path);
  }

  first(names: Names | undefined): unknown {
    if (names === undefined) return undefined;
    for (const name of names) {
      const value = this.get(name);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** Returns the first value that is a text and names something. */
  text(names: Names | undefined): string | undefined {
    if (names === undefined) return undefined;
    for (const name of names) {
      const value = this.get(name);
      if (typeof value === "string" && value !== "" && value.length <= MAX_NAME) return value;
      if (typeof value === "number" || typeof value === "bigint") return String(value);
    }
    return undefined;
  }

  /**
   * Returns a count, which some programs write as text; undefined for none.
   *
   * @throws {Error} it counts nothing: the message says why
   */
  count(names: Names | undefined): number | undefined {
    const value = this.first(names);
    if (value === undefined) return undefined;
    const count = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
    if (!Number.isSafeInteger(count) || (count as number) < 0) {
      throw new Error(`one of its counts isn't a number of tokens`);
    }
    return count as number;
  }

  #fieldOf({ attribute, keys }: Path): unknown {
    this.#parsed ??= new Map();
    if (!this.#parsed.has(attribute)) {
      this.#parsed.set(attribute, parse(this.record.attributes.get(attribute), this.texts![attribute]!));
    }
    let value = this.#parsed.get(attribute);
    for (const key of keys) {
      if (Array.isArray(value)) value = value[Number(key)];
      else if (isRecord(value) && Object.hasOwn(value, key)) value = value[key];
      else return undefined;
    }
    return value ?? undefined;
  }
}

/** A field within an attribute that is JSON or Python's repr. */
interface Path {
  attribute: string;
  keys: readonly string[];
}

/** The paths of the names of the tables; null for one that is an attribute itself. */
const paths = new WeakMap<object, Map<string, Path | null>>();

function pathOf(name: string, texts: NonNullable<Dialect["texts"]>): Path | null {
  let known = paths.get(texts);
  if (!known) paths.set(texts, known = new Map());
  let path = known.get(name);
  if (path === undefined) {
    const attribute = Object.keys(texts).find((one) => name.startsWith(`${one}.`));
    path = attribute === undefined ? null : { attribute, keys: name.slice(attribute.length + 1).split(".") };
    known.set(name, path);
  }
  return path;
}

function parse(value: AttributeValue | undefined, form: "json" | "python"): unknown {
  if (typeof value !== "string") return value;
  if (value.length > MAX_PARSED) return undefined;
  try {
    return JSON.parse(form === "json" ? value : fromPython(value));
  } catch {
    return undefined;
  }
}

/** Returns the JSON of a Python value as `repr` writes it. */
function fromPython(text: string): string {
  return text.replace(
    /'((?:[^'\\]|\\.)*)'|"(?:[^"\\]|\\.)*"|\b(?:None|True|False)\b/g,
    (all, quoted: string | undefined) =>
      quoted !== undefined ? JSON.stringify(quoted) : PYTHON_WORDS[all] ?? all,
  );
}

const PYTHON_WORDS: Readonly<Record<string, string>> = { None: "null", True: "true", False: "false" };

/** Returns whether a record is one of those that a table means. */
export function matches(reader: AttributeReader, { signal, name, has }: Match): boolean {
  const { record } = reader;
  if (signal !== undefined && record.signal !== signal) return false;
  if (name !== undefined && !name.test(record.name)) return false;
  for (const attribute in has) {
    const wanted = has[attribute]!;
    const value = reader.get(attribute);
    const isSo = typeof wanted === "boolean"
      ? (value !== undefined) === wanted
      : typeof value !== "object" && wanted.includes(String(value));
    if (!isSo) return false;
  }
  return true;
}

/** Returns the rule of a record; undefined for one that is of no interest. */
export function ruleOf(reader: AttributeReader, { rules }: Dialect): Rule | undefined {
  return rules.find(({ when }) => matches(reader, when));
}

/** The tokens of a call as a record says them. */
export interface ReadUsage {
  usage: Usage;
  /** False if the counts had to be completed. */
  isExact: boolean;
}

/**
 * Reads the counts of a record; undefined without any.
 *
 * @throws {Error} they can't be any: the message says why
 */
export function readUsage(reader: AttributeReader, tables: readonly Counts[]): ReadUsage | undefined {
  const table = tables.find(({ has, input, output }) =>
    (has === undefined || matches(reader, { has })) &&
    (reader.first(input) !== undefined || reader.first(output) !== undefined)
  );
  if (table === undefined) return undefined;
  const input = (reader.count(table.input) ?? 0) + (reader.count(table.toolInput) ?? 0);
  const cacheRead = reader.count(table.cacheRead) ?? 0;
  const cacheWrite1h = reader.count(table.cacheWrite1h) ?? 0;
  const cacheWrite = reader.count(table.cacheWrite) ?? cacheWrite1h;
  const cached = cacheRead + cacheWrite;
  // Counts that contradict each other can only mean that the cache is beside the input.
  const isContradicting = !table.isCacheBeside && cached > input;
  const { output, reasoning, isExact } = readOutput(reader, table, input);
  const usage = usageOf({
    inputTokens: table.isCacheBeside || isContradicting ? input + cached : input,
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    cacheWrite1hTokens: Math.min(cacheWrite1h, cacheWrite),
    reasoningTokens: reasoning,
  });
  const fault = faultOfUsage(usage);
  if (fault !== undefined) throw new Error(fault);
  return { usage, isExact: isExact && !isContradicting };
}

function readOutput(reader: AttributeReader, table: Counts, input: number) {
  const told = reader.count(table.output) ?? 0;
  const reasoning = reader.count(table.reasoning) ?? 0;
  const total = reader.count(table.total);
  switch (table.outputIs) {
    case "beside":
      return { output: told + reasoning, reasoning, isExact: true };
    case "rest": {
      const output = Math.max(told, (total ?? 0) - input);
      return { output, reasoning, isExact: output === told };
    }
    case "by_total": {
      const isWithin = input + told === total || (input + told + reasoning !== total && reasoning <= told);
      return { output: isWithin ? told : told + reasoning, reasoning, isExact: true };
    }
  }
  // Some leave the reasoning out, against the conventions.
  const isWithin = reasoning <= told;
  return { output: isWithin ? told : told + reasoning, reasoning, isExact: isWithin };
}
