import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { Sighting } from "../../src/calls/mod.ts";
import type { LogDatabase, LogFile, LogImporter, LogSink, OtherFiles } from "../../src/ingest/logs/mod.ts";

/*
 * Reads logs from memory, as the import reads files: lines that end, with one of the markers, from the offset and the state of the
 * last time.
 */

/** The texts of logs by their names below a root; that of a database is SQL. */
export type Logs = Readonly<Record<string, string>>;

/** The statements of an importer. */
export interface Said {
  calls: Sighting[];
  unmetered: string[];
  malformed: string[];
}

/** The state of the files between two imports. */
export type Progress = Map<string, { offset: number; state: unknown }>;

/** Reads logs with an importer, in the order in which they are given. */
export function readLogs(importer: LogImporter, logs: Logs, progress: Progress = new Map()): Said {
  const said: Said = { calls: [], unmetered: [], malformed: [] };
  const sink: LogSink = {
    call: (call) => said.calls.push(call),
    unmetered: (reason) => said.unmetered.push(reason),
    malformed: (reason) => said.malformed.push(reason),
    note() {},
  };
  const others: OtherFiles = {
    text: (name) => logs[name],
    lines: (has) => Object.entries(logs).find(([name]) => has(name))?.[1].split("\n").slice(0, -1),
  };
  for (const [name, text] of Object.entries(logs)) {
    const kind = importer.kinds.find((kind) => kind.has(name.replace(/\.sql$/, "")));
    if (!kind) continue;
    const file: LogFile = { path: `/home/dev/${name}`, name };
    const { offset, state } = progress.get(name) ?? { offset: 0, state: undefined };
    const { read } = kind;
    if (read.form === "whole") {
      attempt(sink, () => {
        const next = read.read(text, file, sink, others, copy(state));
        progress.set(name, { offset: 0, state: copy(next) });
      });
    } else if (read.form === "sqlite") {
      const next = readDatabase(text, (db) => read.read(db, file, state, sink));
      progress.set(name, { offset: 0, state: copy(next) });
    } else {
      const end = text.lastIndexOf("\n") + 1;
      const reader = read.open(file, copy(state), others);
      for (const line of text.slice(offset, end).split("\n")) {
        if (line === "" || !(read.markers ?? [""]).some((marker) => line.includes(marker))) continue;
        attempt(sink, () => reader.line(line, sink));
      }
      reader.end?.(sink);
      progress.set(name, { offset: end, state: copy(reader.state()) });
    }
  }
  return said;
}

/** A state is kept as JSON. */
const copy = (state: unknown) => state === undefined ? undefined : JSON.parse(JSON.stringify(state));

function attempt(sink: LogSink, read: () => void): void {
  try {
    read();
  } catch (error) {
    sink.malformed((error as Error).message);
  }
}

function readDatabase<Result>(sql: string, read: (db: LogDatabase) => Result): Result {
  const database = new DatabaseSync(":memory:");
  try {
    database.exec(sql);
    return read({
      rows: (text, ...args) => database.prepare(text).iterate(...args) as Iterable<Record<string, unknown>>,
      tables: () =>
        database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all().map(({ name }) =>
          String(name)
        ),
    });
  } finally {
    database.close();
  }
}

/** Joins what was said of the same call, as the ledger does: one row for each call, with the best of its counts. */
export function bookOnce(calls: readonly Sighting[]): Sighting[] {
  const rows: Sighting[] = [];
  const byName = new Map<string, number>();
  for (const call of calls) {
    const names = [
      `ref ${call.ref}`,
      `response ${call.responseId ?? call.ref}`,
      `copy ${call.fingerprint ?? call.ref}`,
    ];
    const known = names.map((name) => byName.get(name)).find((row) => row !== undefined);
    const row = known ?? rows.push(call) - 1;
    for (const name of names) byName.set(name, row);
    if (isBetter(call, rows[row]!)) rows[row] = call;
  }
  return rows;
}

function isBetter(a: Sighting, b: Sighting): boolean {
  if (!a.isCopy !== !b.isCopy) return !a.isCopy;
  if ((a.quality === "provisional") !== (b.quality === "provisional")) return a.quality !== "provisional";
  return a.usage.outputTokens > b.usage.outputTokens;
}

/** A call of an `expected.json`, with the counts that its log can tell. */
export interface ExpectedCall {
  model: string;
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  reasoning: number;
  provider?: string;
  responseId?: string;
  session?: string;
  subagent?: string;
  subagentType?: string;
  statedCostUsd?: string;
}

/** A recording of a real agent, with the calls that its provider has billed. */
export interface Recording {
  agent: string;
  name: string;
  logs: Logs;
  expected: ExpectedCall[];
}

const RECORDINGS = new URL("../fixtures/logs/", import.meta.url);

/** Reads the recordings of an agent. */
export async function readRecordings(agent: string): Promise<Recording[]> {
  const folder = new URL(`${agent}/`, RECORDINGS);
  const recordings: Recording[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    // Those from 20 on are made by hand, for the conformance suite.
    if (name >= "20") continue;
    const base = new URL(`${name}/`, folder);
    const { calls } = JSON.parse(await Deno.readTextFile(new URL("expected.json", base)));
    recordings.push({ agent, name, logs: await readTexts(base), expected: calls });
  }
  return recordings.sort((a, b) => a.name < b.name ? -1 : 1);
}

async function readTexts(folder: URL, below = ""): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) Object.assign(texts, await readTexts(new URL(`${name}/`, folder), `${below}${name}/`));
    else if (below !== "") texts[below + name] = await Deno.readTextFile(new URL(name, folder));
  }
  return texts;
}

/** Converts a call to the form of an `expected.json`. */
export function toExpected(call: Sighting): ExpectedCall {
  const { usage, model = "", subagent } = call;
  return {
    model,
    input: usage.inputTokens,
    cacheRead: usage.cacheReadTokens,
    cacheWrite: usage.cacheWriteTokens,
    output: usage.outputTokens,
    reasoning: usage.reasoningTokens,
    provider: call.provider,
    responseId: call.responseId,
    session: call.session,
    subagent: subagent?.id,
    subagentType: subagent?.type,
    statedCostUsd: call.statedCostUsd,
  };
}

/** Checks that exactly these calls would be booked; what an expected call doesn't name may be anything. */
export function assertBooks(calls: readonly Sighting[], expected: readonly ExpectedCall[]): void {
  const byCounts = (a: ExpectedCall, b: ExpectedCall) => a.input - b.input || a.output - b.output;
  const wanted = expected.toSorted(byCounts);
  const booked = bookOnce(calls).map(toExpected).sort(byCounts);
  assert.deepEqual(
    booked.map((call, index) =>
      Object.fromEntries(Object.entries(call).filter(([name]) => name in (wanted[index] ?? call)))
    ),
    wanted,
  );
}
