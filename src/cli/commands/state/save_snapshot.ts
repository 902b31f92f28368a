import { PurserError } from "../../../kernel/errors.ts";
import { JsonFault, splitJson } from "../../../kernel/json/split_json.ts";
import {
  decodeDocument,
  DOCUMENT_LISTS,
  type Found,
  redactValue,
  rewriteDocument,
  writeFile,
} from "../../../snapshots/mod.ts";
import type { CommandContext } from "../../command.ts";
import { countOf, formatBytes } from "../../render/format_values.ts";
import { escapeJson, escapeText } from "../../terminal/escape_text.ts";
import { readUnlessAborted } from "../../terminal/interruptible.ts";
import { createProgress } from "../../terminal/progress.ts";

/** Writes the snapshot of a response to a file, or to standard output, as it arrives, and reports the result. */
export async function saveSnapshot(
  ctx: CommandContext,
  response: Response,
  { agentId, session, output }: { agentId: string; session: string; output: string },
): Promise<void> {
  const { terminal: { stdout, interrupted } } = ctx;
  const isRedacted = ctx.options.has("redact");
  const messages = Number(response.headers.get("purser-message-count"));
  const progress = createProgress(ctx, { label: "Exporting", total: messages, unit: "messages" });
  const check = createCredentialCheck();
  let bytes = 0;
  const document = async function* () {
    const body = readUnlessAborted(interrupted, response.body!);
    const source = isRedacted ? rewriteDocument(body, check.redact) : check.watch(body);
    for await (const chunk of source) {
      bytes += chunk.length;
      progress.reach(check.messages);
      yield chunk;
    }
  };
  try {
    if (output === "-") {
      for await (const text of decode(document())) stdout.write(stdout.isTerminal ? escapeJson(text) : text);
    } else await writeFile(output, document());
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw new PurserError(
      "unavailable",
      `Cannot export: the server sent an incomplete snapshot: ${error.message}`,
      { cause: error },
    );
  } finally {
    progress.end();
  }
  reportCredentials(ctx, check.found, isRedacted);
  if (output === "-") return;
  const redacted = isRedacted ? Object.fromEntries(check.found) : null;
  const result = { file: output, agent_id: agentId, session_id: session, messages, bytes, redacted };
  ctx.print(
    ctx.isJson
      ? JSON.stringify(result)
      : `Exported session ${session} of ${agentId} to ${escapeText(output)}: ` +
        `${countOf(messages, "message")}, ${formatBytes(bytes)}`,
  );
}

function reportCredentials(
  ctx: CommandContext,
  found: ReadonlyMap<string, number>,
  isRedacted: boolean,
): void {
  const count = [...found.values()].reduce((sum, times) => sum + times, 0);
  const kinds = [...found].map(([kind, times]) => `${times} ${kind}`).join(", ");
  if (isRedacted) {
    ctx.say(count === 0 ? "No credentials were found" : `Replaced ${countOf(count, "credential")}: ${kinds}`);
  } else if (count > 0) {
    ctx.warn(
      `The snapshot holds what looks like ${countOf(count, "credential")} (${kinds}); --redact replaces them`,
    );
  }
}

async function* decode(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
  yield "\n";
}

/** Finds credentials in a snapshot while it passes through. */
interface CredentialCheck {
  readonly found: ReadonlyMap<string, number>;
  /** The number of messages so far. */
  readonly messages: number;
  /** Returns a part of the document with its credentials replaced. */
  redact(value: unknown, path: readonly string[]): unknown;
  /** Passes the document through unchanged. Throws if it is incomplete. */
  watch(bytes: AsyncIterable<Uint8Array<ArrayBuffer>>): AsyncGenerator<Uint8Array<ArrayBuffer>>;
}

/** Names, numbers and times. All other fields may hold text of people, models and tools. */
const STRUCTURAL = new Set([
  ...["schema_version", "agent_id", "session_id", "source_environment", "exported_at", "event_log_count"],
  ...["integrity", "state.status", "state.token_usage"],
]);

function createCredentialCheck(): CredentialCheck {
  const found: Found = new Map();
  let messages = 0;
  const redact = (value: unknown, path: readonly string[]) => {
    const field = path.join(".");
    if (field === "state.messages") messages++;
    return STRUCTURAL.has(field) ? value : redactValue(value, found);
  };
  return {
    found,
    get messages() {
      return messages;
    },
    redact,
    async *watch(bytes) {
      // A chunk is passed on when the splitter asks for the next one: then it has read all of it.
      let waiting: Uint8Array<ArrayBuffer>[] = [];
      const taken = async function* () {
        for await (const chunk of bytes) {
          waiting.push(chunk);
          yield chunk;
        }
      };
      const text = decodeDocument(taken(), Number.MAX_SAFE_INTEGER);
      for await (const part of splitJson(text, { arrays: DOCUMENT_LISTS, maxDepth: 1_000 })) {
        if (part.kind !== "open") {
          redact(JSON.parse(part.text), part.path);
        }
        if (waiting.length > 0) {
          yield* waiting;
          waiting = [];
        }
      }
      yield* waiting;
    },
  };
}
