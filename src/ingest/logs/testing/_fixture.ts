import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Sighting } from "../../../calls/mod.ts";
import { type Files, HOME } from "./_memory_import.ts";

/** A call as a fixture expects it. Only the fields that it has are compared. */
export interface ExpectedCall {
  /** All tokens of the input, cached or not. */
  input: number;
  cacheRead?: number;
  /** All writes. */
  cacheWrite?: number;
  cacheWrite1h?: number;
  /** All tokens of the output, reasoning included. */
  output: number;
  reasoning?: number;
  webSearches?: number;
  /** The parts of other models: model, all input, all output. */
  models?: [model: string, input: number, output: number][];
  model?: string | null;
  provider?: string | null;
  responseId?: string;
  requestId?: string;
  /** ISO 8601. */
  at?: string;
  session?: string;
  subagent?: string | null;
  subagentParent?: string | null;
  subagentType?: string | null;
  quality?: string;
  marks?: string[];
  serviceTier?: string;
  speed?: string;
  statedCostUsd?: string | null;
  isPlan?: boolean;
  folder?: string;
  branch?: string;
  tools?: string[];
}

/** The expected content of the logs of a fixture. */
export interface Expected {
  /** The agent and its version, or why the fixture is made by hand. */
  emitter: string;
  /** The numbers of the calls that were billed and are in no log. */
  notInLogs?: number[];
  calls: ExpectedCall[];
  /** The number of calls without counts; not compared if it is missing. */
  unmetered?: number;
  malformed?: number;
  /** The parts of its records that the importer doesn't know. */
  unknown?: string[];
  /** True if a file can only be understood after another one, so that files that appear later than they were written are not tried. */
  isOrdered?: boolean;
}

export interface Fixture {
  name: string;
  files: Files;
  expected: Expected;
}

/** Reads the fixtures below a folder: each is a folder with an `expected.json` beside the files of a home folder. */
export function readFixtures(folder: string): Fixture[] {
  return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    .map(({ name }) => name).sort().map((name) => {
      const files = new Map<string, Uint8Array>();
      addFiles(join(folder, name), HOME, files);
      const expected = JSON.parse(new TextDecoder().decode(files.get(`${HOME}/expected.json`)));
      files.delete(`${HOME}/expected.json`);
      return { name, files, expected };
    });
}

/** Adds the files of a folder. `x.db.sql` is the text of the database `x.db`. */
function addFiles(folder: string, path: string, files: Map<string, Uint8Array>): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const place = join(folder, entry.name);
    if (entry.isDirectory()) addFiles(place, `${path}/${entry.name}`, files);
    else files.set(`${path}/${entry.name.replace(/\.sql$/, "")}`, readFileSync(place));
  }
}

/**
 * Merges sightings of the same call as the ledger does: by the id of the answer, or else their ref. The final ones and those with
 * more output have the counts; what is missing is filled in; a session that has copied the call isn't its own.
 */
export function mergeCalls(sightings: readonly Sighting[]): Sighting[] {
  const calls = new Map<string, Sighting>();
  const names = new Map<string, string>();
  for (const sighting of sightings) {
    // A short id may be that of all answers of a local server.
    const answer = sighting.responseId && sighting.responseId.length >= 16 ? sighting.responseId : undefined;
    const ids = [answer, sighting.fingerprint, `ref:${sighting.ref}`].filter((id) => id !== undefined);
    const key = ids.map((id) => names.get(id)).find((name) => name !== undefined) ?? sighting.ref;
    for (const id of ids) names.set(id, key);
    const before = calls.get(key);
    calls.set(key, before ? mergeTwo(before, sighting) : sighting);
  }
  return [...calls.values()];
}

function mergeTwo(before: Sighting, next: Sighting): Sighting {
  const rank = ({ quality, usage }: Sighting) => (quality === "exact" ? 1e12 : 0) + usage.outputTokens;
  const [better, other] = rank(next) > rank(before) ? [next, before] : [before, next];
  const owner = [better, other].find(({ isCopy }) => !isCopy) ?? better;
  return {
    ...other,
    ...better,
    session: owner.session,
    subagent: owner.subagent ?? better.subagent,
    isCopy: owner.isCopy,
  };
}

/** Throws unless calls are exactly the expected ones, each once. */
export function checkCalls(calls: readonly Sighting[], expected: Expected): void {
  const wanted = expected.calls.map((call) => withoutOrder(call));
  const found = calls.map((call) => describe(call));
  const rest = [...found];
  const missing = wanted.filter((call) => {
    const index = rest.findIndex((one) => isSame(one, call));
    if (index !== -1) rest.splice(index, 1);
    return index === -1;
  });
  if (missing.length === 0 && rest.length === 0) return;
  assert.fail(
    [
      ...missing.map((call) => `missing ${JSON.stringify(call)}`),
      ...rest.map((call) => `unexpected ${JSON.stringify(call)}`),
    ].join("\n"),
  );
}

const withoutOrder = (call: ExpectedCall) => ({
  ...call,
  ...(call.marks && { marks: [...call.marks].sort() }),
});

function isSame(found: Record<string, unknown>, wanted: ExpectedCall): boolean {
  return Object.entries(wanted).every(([key, value]) =>
    JSON.stringify(found[key] ?? null) === JSON.stringify(value)
  );
}

function describe(call: Sighting): Record<string, unknown> {
  const { usage } = call;
  return {
    ...call,
    usage: undefined,
    input: usage.inputTokens,
    cacheRead: usage.cacheReadTokens,
    cacheWrite: usage.cacheWriteTokens,
    cacheWrite1h: usage.cacheWrite1hTokens,
    output: usage.outputTokens,
    reasoning: usage.reasoningTokens,
    webSearches: usage.details?.web_searches,
    models: usage.models?.map(({ model, usage }) => [model, usage.inputTokens, usage.outputTokens]),
    at: new Date(call.at).toISOString(),
    subagent: call.subagent?.id,
    subagentParent: call.subagent?.parent,
    subagentType: call.subagent?.type,
    marks: call.marks && [...call.marks].sort(),
  };
}
