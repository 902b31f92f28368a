import type { Scope } from "../../contract/values.ts";

/**
 * The check that restricts a key of one agent to it: comparing the path's agent, looking up the owner of the path's session or
 * run, or the route's handler, which answers with that agent's part alone.
 */
export type AgentCheck = "agent_id" | "session_id" | "run_id" | "handler";

/** The API keys that may use a route. */
export interface Permission {
  /** A key needs any of these; `open` needs no key. */
  scopes: "open" | readonly Scope[];
  /** Without a check, keys of one agent are refused. */
  agentCheck?: AgentCheck;
  /** True for what lasts beyond a session of the dashboard, such as a new key: the key itself has to be sent for it. */
  needsKey?: boolean;
}

/** The key of a route's permission in its definition. A symbol, so that the OpenAPI document leaves it out. */
export const PERMISSION = Symbol("permission");

/** The name of the API key's security scheme in the OpenAPI document. */
export const SECURITY_SCHEME = "api_key";
