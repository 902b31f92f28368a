import { isRecord } from "../../../kernel/records.ts";

/** The facts that Claude Code gives of a session, as far as a status line uses them; undefined where it gives none. */
export interface StatusInput {
  sessionId: string | undefined;
  /** The path of the session's log. */
  transcript: string | undefined;
  model: string | undefined;
  /** The folder in which it was started. */
  folder: string | undefined;
  /** The windows of the plan, as they are written; null without any. */
  limits: unknown;
}

/** The longest wait for input that is not complete. */
export const INPUT_MS = 500;

/** The JSON of Claude Code 2.1.332 has 2 kB. */
const MAX_INPUT = 1_000_000;

/**
 * Reads the JSON of a status line (https://code.claude.com/docs/en/statusline, 2026-11). Returns as soon as it is complete, since
 * standard input may stay open; undefined for anything else.
 */
export async function readStatusInput(
  chunks: AsyncIterable<Uint8Array>,
  timedOut: Promise<void>,
): Promise<StatusInput | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  const reader = chunks[Symbol.asyncIterator]();
  const late = timedOut.then(() => ({ done: true, value: undefined } as const));
  while (text.length < MAX_INPUT) {
    const { done, value } = await Promise.race([reader.next(), late]);
    if (done) return parse(text);
    text += decoder.decode(value, { stream: true });
    if (text.trimEnd().endsWith("}")) {
      const parsed = parse(text);
      if (parsed) return parsed;
    }
  }
  return undefined;
}

function parse(text: string): StatusInput | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isRecord(json) ? inputOf(json) : undefined;
  } catch {
    return undefined;
  }
}

function inputOf(json: Record<string, unknown>): StatusInput {
  const { session_id, transcript_path, model, workspace, cwd, rate_limits = null } = json;
  const { display_name, id } = isRecord(model) ? model : {};
  const { project_dir } = isRecord(workspace) ? workspace : {};
  return {
    sessionId: textOf(session_id),
    transcript: textOf(transcript_path),
    model: textOf(display_name) ?? textOf(id),
    folder: textOf(project_dir) ?? textOf(cwd),
    limits: rate_limits,
  };
}

const textOf = (value: unknown) => typeof value === "string" && value !== "" ? value : undefined;
