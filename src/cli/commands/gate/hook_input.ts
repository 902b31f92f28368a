import type { Clock } from "../../../kernel/clock.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { isRecord } from "../../../kernel/records.ts";
import type { Terminal } from "../../terminal/terminal.ts";

/** The fields of a hook's input that the gate uses. */
export interface HookInput {
  /** The name of the event; undefined where the agent doesn't name it. */
  event: string | undefined;
  session: string | undefined;
  /** The path of the session's log. */
  transcript: string | undefined;
  model?: string | undefined;
  /** The folder in which the agent works. */
  cwd?: string | undefined;
}

/** Results of tools are part of the input. */
const MAX_INPUT_BYTES = 32 * 1024 * 1024;
/** The time in which an agent writes all of the input. */
const INPUT_MS = 2_000;

/**
 * Reads the input of a hook.
 *
 * @throws {PurserError} `invalid` if there is none, if it is no JSON object or is too large, `unavailable` if it doesn't end
 */
export async function readHookInput(terminal: Terminal, clock: Clock): Promise<HookInput> {
  if (terminal.keys) throw refuse("standard input is a terminal; an agent runs it as its hook");
  const isRead = new AbortController();
  const isLate = clock.sleep(INPUT_MS, isRead.signal).then(() => {
    throw new PurserError("unavailable", "Cannot read the hook's input: it doesn't end");
  });
  isLate.catch(() => {});
  try {
    return parseInput(await Promise.race([readText(terminal.stdin()), isLate]));
  } finally {
    isRead.abort();
  }
}

async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > MAX_INPUT_BYTES) throw refuse(`it has more than ${MAX_INPUT_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parseInput(text: string): HookInput {
  if (text.trim() === "") throw refuse("it is empty");
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (cause) {
    throw refuse("it is no JSON", cause);
  }
  if (!isRecord(input)) throw refuse("it is no JSON object");
  const some = (...names: string[]) => {
    for (const name of names) {
      const value = input[name];
      if (typeof value === "string" && value !== "") return value;
    }
  };
  return {
    event: some("hook_event_name", "hookEventName"),
    session: some("session_id", "sessionId"),
    transcript: some("transcript_path", "transcriptPath"),
    model: some("model"),
    cwd: some("cwd"),
  };
}

const refuse = (reason: string, cause?: unknown) =>
  new PurserError("invalid", `Cannot read the hook's input: ${reason}`, { cause });
