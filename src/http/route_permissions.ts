import type { Scope } from "../contract/values.ts";

/**
 * How a key of one agent is kept to it: by comparing the path's agent, by looking up whose the path's session or run
 * is, or by the route's handler, which shows that agent's part alone. Without a way, such a key is refused.
 */
export type AgentCheck = "agent_id" | "session_id" | "run_id" | "handler";

/** Who may use a route: everybody, or keys with any of some scopes. */
export interface RoutePermission {
  scopes: "open" | readonly Scope[];
  ofOneAgent?: AgentCheck;
}

const open: RoutePermission = { scopes: "open" };
const admin: RoutePermission = { scopes: ["admin"] };
const read = (ofOneAgent?: AgentCheck): RoutePermission => ({ scopes: ["read"], ofOneAgent });
const run = (ofOneAgent: AgentCheck): RoutePermission => ({ scopes: ["run"], ofOneAgent });

/** Which scope each route needs, by method and path. The one table: a route that is not in it answers no key. */
export const ROUTE_PERMISSIONS: Readonly<Record<string, RoutePermission>> = {
  // Nothing in these is anybody's.
  "GET /": open,
  "GET /healthz": open,
  "GET /readyz": open,
  "GET /docs": open,
  "GET /openapi.json": open,
  "GET /schemas/snapshot/v1.json": open,

  "GET /agents": read("handler"),
  "GET /agents/{agent_id}": read("agent_id"),
  "PUT /agents/{agent_id}": admin,
  "DELETE /agents/{agent_id}": admin,

  "POST /agents/{agent_id}/runs": run("agent_id"),
  "GET /runs/{run_id}": { scopes: ["read", "run"], ofOneAgent: "run_id" },
  "POST /runs/{run_id}/cancel": run("run_id"),

  "GET /sessions": read("handler"),
  "GET /agents/{agent_id}/sessions": read("agent_id"),
  "GET /sessions/{session_id}": read("session_id"),
  "GET /sessions/{session_id}/events": read("session_id"),
  "GET /sessions/{session_id}/events/imported": read("session_id"),
  "GET /sessions/{session_id}/costs": read("session_id"),

  "GET /agents/{session_id}/snapshot": read("session_id"),
  "POST /agents/snapshot/restore": admin,

  "GET /costs": read("handler"),
  "POST /costs/events": run("handler"),
  "GET /anomalies": read("handler"),
  "GET /events": read("handler"),

  "GET /alerts/rules": read("handler"),
  "GET /alerts/rules/{rule_id}": read("handler"),
  "POST /alerts/rules": admin,
  "PATCH /alerts/rules/{rule_id}": admin,
  "DELETE /alerts/rules/{rule_id}": admin,
  "POST /alerts/rules/{rule_id}/test": admin,
  "GET /alerts/history": read("handler"),

  "GET /channels": read(),
  "POST /channels/{name}/test": admin,
  "GET /doctor": read(),
  "GET /metrics": read(),

  "GET /keys": admin,
  "POST /keys": admin,
  "GET /keys/{key_id}": admin,
  "DELETE /keys/{key_id}": admin,
};

/** Whether a request is for what is open to everybody. Paths that are written otherwise are not, to be safe. */
export function isOpenRoute({ method, url }: Pick<Request, "method" | "url">): boolean {
  const isReading = method === "GET" || method === "HEAD";
  return isReading && ROUTE_PERMISSIONS[`GET ${new URL(url).pathname}`]?.scopes === "open";
}
