import { messageOf, PurserError } from "../../kernel/errors.ts";
import { isRecord } from "../../kernel/records.ts";
import { checkUsage, type Usage, usageOf } from "../../pricing/mod.ts";
import type { LogSink, OtherFiles } from "./importer.ts";

/*
 * Reads the fields of records that another program has written. The messages of their errors quote nothing of a record: it has
 * prompts and answers.
 */

/** The fields of a record. */
export type Fields = Readonly<Record<string, unknown>>;

/** Parses a JSON object. Throws `invalid` for any other text. */
export function parseRecord(text: string): Fields {
  const record = parseJson(text);
  if (!isRecord(record)) throw cannotRead("it isn't a JSON object");
  return record;
}

/** Parses JSON. Throws `invalid`, without a part of the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw cannotRead("it isn't JSON");
  }
}

/** Returns the fields of an object within a record, none for any other value. */
export function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** Returns the objects of a list within a record, none for any other value. */
export function recordsOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Returns the messages of a document. Throws `invalid` if it has no list of them: it isn't a log of that agent. */
export function messagesOf(list: unknown): Fields[] {
  if (!Array.isArray(list)) throw cannotRead("it has no list of messages");
  return recordsOf(list);
}

const MAX_TEXT_LENGTH = 1_000;

/** Returns a text that names something; undefined for an empty or endless one, and any other value. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= MAX_TEXT_LENGTH ? value : undefined;
}

/** Returns a count of tokens, 0 for a missing one. Throws `invalid` for a value that counts nothing. */
export function countOf(value: unknown): number {
  if (value === undefined || value === null) return 0;
  if (!Number.isSafeInteger(value) || value as number < 0) {
    throw cannotRead("one of its counts isn't a number of tokens");
  }
  return value as number;
}

/** Returns a time, given as text or in milliseconds since the epoch. Throws `invalid` for any other value. */
export function timeOf(value: unknown): number {
  const time = typeof value === "string" ? Date.parse(value) : value;
  if (!Number.isSafeInteger(time) || time as number <= 0) throw cannotRead("it has no time");
  return time as number;
}

/**
 * Returns the cost that a client has computed, as decimal text in USD. A cost of 0 is undefined: agents write it for a
 * subscription, and for a model whose price they don't know.
 */
export function usdOf(value: unknown): string | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? String(value) : undefined;
}

/** Returns the usage of counts. Throws `invalid` for contradictory ones. */
export function usageFrom(counts: Partial<Usage>): Usage {
  const usage = usageOf(counts);
  checkUsage(usage);
  return usage;
}

/** Returns the usage of counts whose input leaves the cached tokens out, unless it `isWhole` and not smaller than they are. */
export function usageWithCache(counts: Partial<Usage>, isWhole = false): Usage {
  const { inputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = counts;
  const cached = cacheReadTokens + cacheWriteTokens;
  if (isWhole && inputTokens >= cached) return usageFrom(counts);
  return usageFrom({ ...counts, inputTokens: inputTokens + cached });
}

/**
 * Names a call by its time, model and counts: the same in every copy of its record, where agents copy records under new ids or
 * give them new ids whenever they write.
 */
export function nameByCounts(at: number, model: string | undefined, usage: Usage): string {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  const counts = [inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens];
  return `${at}:${counts.join("-")}:${model ?? ""}`;
}

/** Returns the model of a call, or that its record doesn't name it. */
export function modelOf(value: unknown): { model?: string; marks?: string[] } {
  const model = textOf(value);
  return model === undefined ? { marks: ["model_missing"] } : { model };
}

/** Returns the names of the tools that an answer called, once each; undefined without any. */
export function toolNames(calls: readonly Fields[]): string[] | undefined {
  const names = new Set(calls.flatMap(({ name }) => textOf(name) ?? []));
  return names.size > 0 ? [...names] : undefined;
}

/** Reads a JSON object beside a log: no fields if there is none, or while it is being written. */
export function readBeside(others: OtherFiles | undefined, name: string): Fields {
  try {
    return parseRecord(others?.text(name) ?? "{}");
  } catch {
    return {};
  }
}

/** Reads a record of a document or database: one that can't be read is counted, and the next one is read. */
export function readEach<Record>(
  records: Iterable<Record>,
  sink: LogSink,
  read: (record: Record) => void,
): void {
  for (const record of records) {
    try {
      read(record);
    } catch (error) {
      sink.malformed(messageOf(error));
    }
  }
}

function cannotRead(state: string): PurserError {
  return new PurserError("invalid", `Cannot read the record: ${state}`);
}
