import { TAG_LIMITS, toTagValue } from "../contract/tags/tags.ts";
import { type Fields, isFields } from "../pricing/usage/mod.ts";
import type { Secrets } from "../redaction/values/mod.ts";
import { type Attribution, type Caller, nameSession } from "./attribution.ts";

/*
 * The sub-agents of coding agents, as their requests name them: by headers, and Codex also in the body, of which its headers are a
 * copy. A sub-agent's calls are of the session at its root, and their tags name it, as those of imported logs do. As of 2026-11-26,
 * those of Claude Code 2.1.332 and Codex 0.171.0.
 */

interface Told {
  /** The session at the root. */
  session?: string | undefined;
  subagent?: { id: string; parent?: string | undefined; type?: string | undefined };
}

const METADATA = "x-codex-turn-metadata";

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;

/** Reads the metadata of a turn of Codex: JSON, in the body or in a header. */
function readTurn(text: unknown): Fields | undefined {
  if (typeof text !== "string" || text.length > MAX_METADATA) return undefined;
  try {
    const turn: unknown = JSON.parse(text);
    return isFields(turn) ? turn : undefined;
  } catch {
    return undefined;
  }
}

const MAX_METADATA = 64 * 1024;

/** Reads the agent of a call of Codex; never from `prompt_cache_key`: that of a sub-agent is its root's. */
function readCodex(headers: Pick<Headers, "get">, body: Fields): Told | undefined {
  const { client_metadata: metadata } = body;
  const turn = readTurn(isFields(metadata) ? metadata[METADATA] : undefined) ??
    readTurn(headers.get(METADATA)) ?? {};
  const told = (field: string, header: string) => textOf(turn[field]) ?? textOf(headers.get(header));
  const thread = told("thread_id", "thread-id");
  const parent = told("parent_thread_id", "x-codex-parent-thread-id");
  const session = told("session_id", "session-id") ?? parent ?? thread;
  if (session === undefined) return undefined;
  const fromBody = textOf(turn.session_id);
  if (thread === undefined || thread === session) return { session: fromBody };
  const kind = told("subagent_kind", "x-openai-subagent");
  const name = textOf(turn.agent_name)?.split("/").findLast(Boolean);
  const type = kind === undefined || SPAWNED.has(kind) ? name : kind;
  return {
    session: fromBody ?? session,
    subagent: { id: thread, parent: parent === session ? undefined : parent, type },
  };
}

/** The kinds of sub-agents that have names of their own. */
const SPAWNED: ReadonlySet<string> = new Set(["thread_spawn", "collab_spawn"]);

function readClaudeCode(headers: Pick<Headers, "get">): Told | undefined {
  const id = textOf(headers.get("x-claude-code-agent-id"));
  if (id === undefined) return undefined;
  return { subagent: { id, parent: textOf(headers.get("x-claude-code-parent-agent-id")) } };
}

/**
 * Returns the attribution of a call with what its body says: the session at the root of its agents, unless a header of Purser's
 * names one, and the sub-agent in its tags, as far as there is room beside the caller's own.
 */
export function withAgentOfBody(
  attribution: Attribution,
  { headers, body, caller, secrets }: {
    headers: Pick<Headers, "get">;
    body: Fields;
    caller: Caller;
    secrets: Pick<Secrets, "scrub">;
  },
): Attribution {
  const told = readClaudeCode(headers) ?? readCodex(headers, body);
  if (told === undefined) return attribution;
  const { session, subagent } = told;
  const isNamed = session === undefined || headers.get("x-purser-session")?.trim();
  const tags: Record<string, string> = { ...attribution.tags };
  const add = (key: string, value: string | undefined) => {
    const text = toTagValue(secrets.scrub(value ?? ""));
    if (text !== "" && Object.keys(tags).length < TAG_LIMITS.ofCall) tags[key] ??= text;
  };
  add("subagent", subagent?.id);
  add("subagent_of", subagent?.parent);
  add("subagent_type", subagent?.type);
  return { ...attribution, tags, ...(!isNamed && { sessionId: nameSession(session, caller) }) };
}
