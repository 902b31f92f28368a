/**
 * A process that restores documents into one session, one after another, until it is killed. Once its modules are
 * loaded it waits for a line with the number of the first document, so that it can be started before it is needed. It
 * prints a line before and after each import, one when the document was read, and one when the bus publishes that it
 * was restored, which makes it acknowledged outside this process.
 *
 * Arguments: the database, and `fence` for a run in progress in the session at each import.
 */
import { AGENT_DEFAULTS } from "../../src/contract/limits.ts";
import { toCanonicalText } from "../../src/kernel/json/canonical_json.ts";
import { openCore, type WholeCore } from "../../src/service/mod.ts";
import { runAgent } from "../../src/runner/mod.ts";
import { importSession } from "../../src/snapshots/mod.ts";
import { writeDocument } from "../../src/snapshots/document/mod.ts";
import type { Store } from "../../src/store/mod.ts";
import { TextLineStream } from "../harness/text_lines.ts";

export const AGENT = "agent";
export const SESSION = "ses";

/** The settings with which these tests open a database. */
export const configOf = (dbUrl: string) => ({
  dbUrl,
  durability: "full" as const,
  environment: "test",
  remoteTimeoutMs: 1_000,
  maxBodyBytes: 1_000_000,
  maxSnapshotBytes: 100_000_000,
});

const STATUSES = ["idle", "completed", "failed", "running", "budget_exceeded", "cancelled", "interrupted"];
/** A message of more than 262,144 characters is staged in a commit of its own. */
const LARGE_CHARACTERS = 265_000;

/** A document, its two lists apart. */
export interface NumberedDocument {
  head: Record<string, unknown>;
  status: string;
  messages: Record<string, unknown>[];
  /** Undefined if the document has no such list. */
  events: Record<string, unknown>[] | undefined;
}

/**
 * Generates the document of a number, which occurs in every message and event and decides their count. Staging takes
 * several commits, unless the document is small.
 */
export function documentOf(number: number, { isSmall = false } = {}): NumberedDocument {
  const at = new Date(Date.UTC(2026, 10, 1) + number * 1_000).toISOString();
  const count = isSmall ? 10 + number % 30 : 200 + (number * 137) % 300;
  const text = `of document ${number}; `.repeat(isSmall ? 3 : 30 + number % 30);
  const isLarge = (index: number) => !isSmall && (index === 60 || index === 180);
  const messages = Array.from({ length: count }, (_, index) => ({
    id: `msg_${number}_${index}`,
    created_at: at,
    role: index % 2 === 0 ? "user" : "assistant",
    content: `message ${index} ${text}${isLarge(index) ? "x".repeat(LARGE_CHARACTERS) : ""}`,
  }));
  const event = {
    agent_id: AGENT,
    session_id: SESSION,
    run_id: null,
    call_id: null,
    type: "run.started",
    at,
  };
  const events = Array.from({ length: 20 + number % 60 }, (_, index) => ({
    ...event,
    seq: index + 1,
    payload: { document: number, index, text },
    imported_from: `origin-${number}`,
  }));
  const status = STATUSES[number % STATUSES.length]!;
  return {
    head: {
      schema_version: 1,
      agent_id: AGENT,
      session_id: SESSION,
      state: { status, mark: number },
      event_log_count: number,
      tags: { document: String(number), [`only-${number}`]: "here" },
      source_environment: `environment-${number}`,
      exported_at: at,
      mark: number,
    },
    status,
    messages,
    events: number % 4 === 0 ? undefined : events,
  };
}

/** Ages the rows that imports have replaced until they are due to be swept. */
export async function ageReplaced(store: Store): Promise<void> {
  await store.write([{ sql: "UPDATE loose_generations SET since = 1 WHERE staged_by IS NULL" }]);
}

/** Works until it is told to end, or killed. */
export async function work(db: string, mode: string): Promise<void> {
  const encoder = new TextEncoder();
  const print = (line: unknown) => void Deno.stdout.writeSync(encoder.encode(JSON.stringify(line) + "\n"));
  const orders = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  const first = (await orders.getReader().read()).value;
  if (first === undefined) return;
  print({ opening: true });
  const core = await openCore({ config: configOf(db) });
  print({ opened: true });

  let number = Number(first);
  core.bus.subscribe(({ type }) => {
    if (type === "session.restored") print({ restored: number });
  });
  for (;; number++) {
    const run = mode === "fence" ? await startRun(core, print) : undefined;
    const pieces = await Array.fromAsync(bytesOf(documentOf(number, { isSmall: mode === "fence" })));
    const withReadLine = async function* () {
      yield* pieces;
      print({ read: number });
    };
    await ageReplaced(core.store); // so that this import has something to sweep
    print({ begin: number });
    await importSession(core, withReadLine());
    print({ end: number });
    if (run) print({ ran: await run.ended });
  }
}

function bytesOf({ head, messages, events }: NumberedDocument): AsyncGenerator<Uint8Array> {
  const pagesOf = async function* (elements: readonly unknown[]) {
    for (const element of elements) yield [toCanonicalText(element)];
  };
  return writeDocument({ head, messages: pagesOf(messages), events: events && pagesOf(events) });
}

/** Starts a run that calls its model and a tool repeatedly; resolves once its first call is booked. */
async function startRun(core: WholeCore, print: (line: unknown) => void) {
  const isBooked = Promise.withResolvers<void>();
  const ended = runAgent(core, {
    agent: { ...AGENT_DEFAULTS, agentId: AGENT, model: "demo:loop", maxSteps: 1_000, tools: ["calculator"] },
    input: "continue",
    sessionId: SESSION,
    onPart: (part) => {
      if (part.type !== "event" || part.event.type !== "cost.recorded") return;
      print({ call: part.event.payload.call_id });
      isBooked.resolve();
    },
  }).then(
    ({ run_id, status }) => ({ run: run_id, status: status as string }),
    (error) => ({ run: error.extensions?.run_id, status: error.code as string, message: error.message }),
  );
  await Promise.race([isBooked.promise, ended]);
  return { ended };
}
