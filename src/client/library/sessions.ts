import type { Session } from "../../contract/sessions.ts";
import type { FetchHandler } from "../../http/mod.ts";
import { checkNames, namesOf } from "../../kernel/known_names.ts";
import { readPages } from "./read_pages.ts";

/** Options of `sessions()`. */
export interface SessionsOptions {
  /** Only the sessions of this agent. */
  agentId?: string;
  /** The maximum number of sessions; default: all. */
  limit?: number;
}

const NAMES = namesOf<SessionsOptions>({ agentId: true, limit: true });

/** Lists sessions; see `Purser.sessions`. */
export async function readSessions(app: FetchHandler, options: SessionsOptions = {}): Promise<Session[]> {
  checkNames("list the sessions", options, NAMES);
  const { agentId, limit } = options;
  const path = agentId === undefined ? "/sessions" : `/agents/${encodeURIComponent(agentId)}/sessions`;
  return await readPages<Session>(app, path, { limit });
}
