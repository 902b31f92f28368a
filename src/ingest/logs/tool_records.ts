import type { Sighting } from "../../calls/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { parseWithNumberTexts } from "../../kernel/json/number_texts.ts";
import { parseCsv } from "../../kernel/files/read_csv.ts";
import { isRecord } from "../../kernel/records.ts";
import { hasQuantity } from "../../pricing/mod.ts";
import {
  defineImporter,
  type LogImporter,
  type LogKind,
  type LogSink,
  type RecordsApi,
  type RecordsRequest,
} from "./importer.ts";
import { countOf, type Fields, readEach, textOf, timeOf } from "./log_record.ts";

/*
 * Reads the records of tools that have recorded the calls of others, from their exports and their APIs: tables with a row for each
 * call. All scalars are texts, as they are in CSV, so that amounts keep their digits.
 */

/** A tool, and its table of calls. */
interface Tool extends Pick<LogImporter, "name" | "title" | "seen" | "holes"> {
  /** For people: `LiteLLM's spend logs`. */
  table: string;
  /** The fields that each row has; others may be missing. */
  required: readonly string[];
  /** The other fields that are known, apart by blanks. A field that isn't is counted. */
  known: string;
  /** Returns the name of a field by that in a row; by default the same. */
  nameOf?(field: string): string;
  read(row: Fields, sink: LogSink): void;
  api: Omit<RecordsApi, "read"> & {
    /** Returns the fields by which the request for the page after some rows differs from the first one. */
    next(
      rows: readonly unknown[],
      answer: unknown,
      request: RecordsRequest,
    ): RecordsRequest["query"] | undefined;
  };
}

/** Defines the importer of a tool: of exports as JSON lines of any size, or as CSV or a JSON list that are read whole, and of its API. */
export function defineTool(
  { table, required, known, nameOf = (field) => field, read, api, ...tool }: Tool,
): LogImporter {
  const names = new Set([...required, ...known.split(" ")]);
  const record = (value: unknown, sink: LogSink): void => {
    if (!isRecord(value)) throw cannotRead("it isn't a JSON object");
    const fields = Object.entries(value).filter(([, field]) => field !== null && field !== "");
    const row = Object.fromEntries(fields.map(([field, content]) => [nameOf(field), content]));
    const missing = required.find((name) => row[name] === undefined);
    if (missing !== undefined) throw cannotRead(`it has no ${missing}, as all of ${table} have`);
    for (const name of Object.keys(row)) if (!names.has(name)) sink.unknown(`field ${name.slice(0, 60)}`);
    read(row, sink);
  };
  const lines: LogKind = {
    has: (name) => /\.(?:jsonl|ndjson)$/i.test(name),
    read: {
      form: "lines",
      open: () => ({
        line: (text, sink) => text.trim() === "" ? undefined : record(parseRecordText(text), sink),
        cut: (sink) => sink.malformed("it ends within a record; is it whole?"),
        state: () => null,
      }),
    },
  };
  const whole: LogKind = {
    has: (name) => /\.(?:json|csv)$/i.test(name),
    read: {
      form: "whole",
      read(text, { name }, sink) {
        // All of it is parsed before anything is said: of a file that is cut off nothing is booked.
        const isCsv = name.toLowerCase().endsWith(".csv");
        const rows = isCsv ? rowsOf(text) : recordsIn(parseRecordText(text, "it isn't JSON; is it whole?"));
        readEach(rows, sink, (row) => record(row, sink));
      },
    },
  };
  const page: RecordsApi["read"] = (answer, request, sink) => {
    const rows = recordsIn(answer);
    readEach(rows, sink, (row) => record(row, sink));
    return api.next(rows, answer, request);
  };
  return defineImporter({ ...tool, roots: () => [], kinds: [lines, whole], api: { ...api, read: page } });
}

function parseRecordText(text: string, state = "it isn't JSON"): unknown {
  try {
    return parseWithNumberTexts(text);
  } catch {
    throw cannotRead(state);
  }
}

/** Returns the list of records of an answer. */
function recordsIn(answer: unknown): readonly unknown[] {
  const list = isRecord(answer) ? answer.data : answer;
  if (!Array.isArray(list)) throw cannotRead("it is no list of records");
  return list;
}

function rowsOf(text: string): Fields[] {
  try {
    const [columns = [], ...rows] = parseCsv(text);
    return rows.map((cells) =>
      Object.fromEntries(columns.map((column, index) => [column.trim(), cells[index]]))
    );
  } catch (error) {
    throw cannotRead(`${messageOf(error)}; is it whole?`);
  }
}

/** The statement of a record about a call. */
interface ToldCall extends Omit<Sighting, "quality" | "durationMs" | "marks"> {
  endedAt: unknown;
  hasFailed: boolean;
  /** True if the tool has counted the tokens itself. */
  isGuessed?: boolean;
  /** True if its counts contradict each other. */
  isDisputed?: boolean;
}

/** Tells a call with what its record can't say; one without counts and cost is counted. */
export function tellCall(
  sink: LogSink,
  { endedAt, hasFailed, isGuessed, isDisputed, ...call }: ToldCall,
): void {
  const hasCounts = hasQuantity(call.usage);
  if (!hasCounts && call.statedCostUsd === undefined) {
    return sink.unmetered(
      `a call ${hasFailed ? "that has failed, without counts" : "without counts and cost"}`,
    );
  }
  const unknown = { model_missing: call.model === undefined, failed: hasFailed, disputed: isDisputed };
  const marks = Object.entries(unknown).flatMap(([mark, isSo]) => isSo ? [mark] : []);
  sink.call({
    ...call,
    durationMs: endedAt === undefined ? undefined : Math.max(0, utcOf(endedAt) - call.at),
    quality: !hasCounts ? "cost_only" : isGuessed ? "provisional" : "exact",
    marks: marks.length === 0 ? undefined : marks,
  });
}

/** Returns the object in a field, which may be its JSON; no fields for any other value. */
export function objectOf(value: unknown): Fields {
  if (typeof value !== "string" || !value.startsWith("{")) return isRecord(value) ? value : {};
  try {
    return parseWithNumberTexts(value) as Fields;
  } catch {
    return {}; // Cut to a length by the tool.
  }
}

/** Returns the texts in a field, which may be the JSON of their list. */
export function textsOf(value: unknown): string[] {
  const list = typeof value === "string" && value.startsWith("[") ? parseRecordText(value) : value;
  return Array.isArray(list) ? list.flatMap((one) => textOf(one) ?? []) : [];
}

/** Returns a count of tokens that is a number or its text, 0 for a missing one. Throws `invalid` for any other value. */
export function tokensOf(...values: readonly unknown[]): number {
  const value = values.find((one) => one !== undefined && one !== null);
  return countOf(typeof value === "string" && /^-?\d+(\.0+)?$/.test(value) ? Number(value) : value);
}

/** Returns a time of UTC, which its text may leave unsaid. Throws `invalid` for any other value. */
export function utcOf(value: unknown): number {
  const text = String(value).replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00");
  return timeOf(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
}

/** Returns a stated cost as it is written; undefined for 0, which tools write where they don't know a price. */
export function statedOf(value: unknown): string | undefined {
  const text = textOf(value)?.toLowerCase();
  if (text === undefined) return undefined;
  if (Number.isNaN(Number(text)) || Number(text) < 0) throw cannotRead("its cost isn't an amount");
  return Number(text) === 0 ? undefined : text;
}

/** Returns the tags that have a value. */
export function tagsIn(tags: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts = Object.entries(tags).map(([name, value]) => [name, textOf(value)]);
  return Object.fromEntries(texts.filter(([, text]) => text !== undefined));
}

/** The ids that LiteLLM makes itself, in place of the provider's. */
const OWN_IDS = /^(?:chatcmpl-)?[0-9a-f]{8}-[0-9a-f]{4}-|^resp_bGl0ZWxsbT/;

/** Returns an id that LiteLLM gives to an answer: the provider's, or its own, by which another record of LiteLLM's names the call. */
export const idsByLiteLlm = (id: string | undefined): { responseId?: string; requestId?: string } =>
  id === undefined ? {} : OWN_IDS.test(id) ? { requestId: id } : { responseId: id };

const cannotRead = (state: string) => new PurserError("invalid", `Cannot read the record: ${state}`);
