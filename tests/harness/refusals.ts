import assert from "node:assert/strict";
import { assertProblem } from "./assert_problem.ts";
import { fullSnapshot, type LooseDocument, sealedText } from "./any_snapshot.ts";
import { dump } from "./booking.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "./test_purser.ts";

export const RESTORE = "/agents/snapshot/restore";
export const MARK = "@@mark";

export interface Refusal {
  status?: number;
  code?: string;
  /** Among the paths of the issues. */
  path?: string;
  detail?: RegExp;
  headers?: HeadersInit;
}

export type Refuse = (body: unknown, refusal?: Refusal) => Promise<LooseDocument>;

/**
 * Tests a refusal over a database that has the session and over an empty one, as an import and as a dry run. All of
 * them must be unchanged afterwards.
 */
export function testRefusals(
  sentence: string,
  body: (refuse: Refuse) => Promise<void>,
  options?: TestOptions,
): void {
  Deno.test(sentence, async () => {
    await using empty = await openTestPurser(options);
    await using taken = await openTestPurser(options);
    await taken.api("PUT", "/agents/agent", { model: "demo:echo" });
    await taken.run({ agentId: "agent" }, "Hello", { sessionId: "ses" });
    const before = [await stateOf(empty), await stateOf(taken)];
    await body(async (document, { status = 400, code = "invalid", path, detail, headers } = {}) => {
      let problem: LooseDocument = {};
      for (const purser of [empty, taken]) {
        for (const place of [RESTORE, `${RESTORE}?dry_run=true`]) {
          const expected = { status, code, path, detail };
          problem = (await assertProblem(purser, "POST", place, document, expected, headers)).body;
          if (code === "invalid") assert.ok(problem.details.issues.length > 0);
        }
      }
      return problem;
    });
    assert.deepEqual([await stateOf(empty), await stateOf(taken)], before);
  });
}

export async function stateOf({ core, published, logs }: TestPurser) {
  return {
    tables: await dump(core.store),
    published: published.length,
    errors: logs.filter(({ level }) => level === "error"),
  };
}

/** The keys of a path such as `state.messages[0].role`. */
export function keysOf(path: string): (string | number)[] {
  return path.split(/[.[]/).filter((key) => key !== "").map((key) =>
    key.endsWith("]") ? Number(key.slice(0, -1)) : key
  );
}

/** A copy of a document with another value at a path; undefined removes it. */
export function changed(document: LooseDocument, path: string, value: unknown): LooseDocument {
  const copy = structuredClone(document);
  const keys = keysOf(path);
  const last = keys.pop()!;
  const holder = keys.reduce((object, key) => object[key], copy);
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return copy;
}

/** The text of a document in which the value at a path is written as `json`, valid JSON or not. */
export function textWith(document: LooseDocument, path: string, json: string): string {
  return JSON.stringify(changed(document, path, MARK)).replace(JSON.stringify(MARK), () => json);
}

/** The text of a document in which the object at a path begins with the given text. */
export function textWithMember(document: LooseDocument, path: string, member: string): string {
  const copy = structuredClone(document);
  const target = keysOf(path).reduce((object, key) => object[key], copy);
  const fields = { ...target };
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, { [MARK]: 0 }, fields);
  return JSON.stringify(copy).replace(`"${MARK}":0`, () => member);
}

/** The reported path of a fault that is known only to be somewhere in a value: the message, event or field. */
export function placeOf(path: string): string {
  return /^(state\.messages\[\d+\]|events\[\d+\]|state\.\w+|\w*)/.exec(path)![0];
}

export function gzip(content: string | Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([content]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(stream).bytes();
}

export const FULL = fullSnapshot();
export const FULL_TEXT = sealedText(FULL);
export const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Objects of the full document, from the top to deep in a tool's input. */
export const OBJECTS = [
  "",
  "state",
  "state.token_usage",
  "state.token_usage.extra",
  "state.extra.deep[0]",
  "state.messages[0]",
  "state.messages[0].providerOptions.openai",
  "state.messages[1].content[2].data",
  "state.messages[2].content[2]",
  "state.messages[2].content[2].input",
  "state.messages[2].content[2].input.place.at[1]",
  "state.messages[2].content[6]",
  "state.messages[3].content[1].output",
  "tags",
  "events[0]",
  "events[1].payload",
  "events[1].payload.deep[0]",
  "agent",
  "agent.extra",
  "extra.deep[0]",
];

/** Scalars of the full document, in fields that are checked and in fields that are not. */
export const SCALARS = [
  "agent_id",
  "event_log_count",
  "exported_at",
  "tags.ticket",
  "state.status",
  "state.token_usage.cost_usd",
  "state.extra.deep[0].a",
  "state.messages[0].content",
  "state.messages[1].content[0].text",
  "state.messages[2].content[0].providerOptions.anthropic.signature",
  "state.messages[2].content[2].input.place.at[1].b",
  "state.messages[3].content[1].output.value",
  "events[0].seq",
  "events[1].payload.deep[0].a",
  "agent.model",
  "agent.extra.deep[0]",
  "extra.deep[0].a",
];
