import type { Core } from "../service/mod.ts";
import type { Permission } from "./middleware/permission.ts";
import type { Router } from "./router.ts";

/** The exports of a resource's file of routes. */
export interface RouteModule {
  /** `wholeApp` returns the whole API, for the document that describes it. */
  createRoutes(core: Core, wholeApp: () => Promise<Router>): Router;
  /** Routes that read their body as a stream, under a limit of their own. */
  createStreamedRoutes?(core: Core): Router;
  /** The permissions of routes that are not in the OpenAPI document, by method and path. */
  permissions?: ReadonlyMap<string, Permission>;
}

/** Routes that are loaded together. */
export interface Resource {
  /** The prefixes of its paths, where `:` is any one segment. Of all resources' prefixes, the longest match counts. */
  prefixes: readonly string[];
  /** Its routes need no API key: `true` at exactly the prefixes, `below` at the paths below them too. */
  isOpen?: true | "below";
  load(): Promise<RouteModule>;
}

/** The paths of the OpenTelemetry protocol. */
export const OTLP_PATHS = ["/v1/traces", "/v1/logs", "/v1/metrics"] as const;

/** Returns whether a path is one of OTLP. */
export const isOtlpPath = (path: string): boolean => (OTLP_PATHS as readonly string[]).includes(path);

/**
 * The one table of the API: which module answers at which paths. A request loads the module of its resource only, since
 * to make all routes and their schemas takes longer than most commands.
 */
export const RESOURCES = [
  { prefixes: ["/agents"], load: () => import("./routes/agents.ts") },
  { prefixes: ["/agents/:/runs", "/runs"], load: () => import("./routes/runs.ts") },
  { prefixes: ["/agents/:/sessions", "/sessions"], load: () => import("./routes/sessions.ts") },
  {
    prefixes: ["/agents/:/snapshot", "/agents/snapshot/restore", "/sessions/:/events/imported"],
    load: () => import("./routes/snapshots.ts"),
  },
  { prefixes: ["/costs"], load: () => import("./routes/costs.ts") },
  { prefixes: ["/costs/calls", "/costs/summary"], load: () => import("./routes/explained_costs.ts") },
  { prefixes: ["/costs/events"], load: () => import("./routes/cost_events.ts") },
  { prefixes: ["/sightings"], load: () => import("./routes/sightings.ts") },
  { prefixes: ["/imports"], load: () => import("./routes/imports.ts") },
  { prefixes: ["/bills"], load: () => import("./routes/bills.ts") },
  { prefixes: ["/sources"], load: () => import("./routes/sources.ts") },
  { prefixes: ["/plans"], load: () => import("./routes/plans.ts") },
  { prefixes: ["/prices"], load: () => import("./routes/prices.ts") },
  { prefixes: ["/upstreams"], load: () => import("./routes/upstreams.ts") },
  { prefixes: ["/costs/what-if", "/costs/caching"], load: () => import("./routes/what_if.ts") },
  { prefixes: ["/exports"], load: () => import("./routes/exports.ts") },
  { prefixes: ["/statements"], load: () => import("./routes/statements.ts") },
  { prefixes: ["/repricings"], load: () => import("./routes/repricings.ts") },
  {
    prefixes: ["/reconciliations", "/bills/periods"],
    load: () => import("./routes/reconciliations.ts"),
  },
  { prefixes: ["/budgets"], load: () => import("./routes/budgets.ts") },
  { prefixes: ["/approvals"], load: () => import("./routes/approvals.ts") },
  { prefixes: ["/alerts"], load: () => import("./routes/alerts.ts") },
  { prefixes: ["/channels", "/digest"], load: () => import("./routes/channels.ts") },
  { prefixes: ["/anomalies"], load: () => import("./routes/anomalies.ts") },
  { prefixes: ["/live"], load: () => import("./routes/live.ts") },
  { prefixes: ["/events"], load: () => import("./routes/events.ts") },
  { prefixes: ["/keys", "/key-names", "/me"], load: () => import("./routes/keys.ts") },
  { prefixes: OTLP_PATHS, load: () => import("./routes/otlp.ts") },
  { prefixes: ["/apply"], load: () => import("./routes/definitions.ts") },
  { prefixes: ["/audit"], load: () => import("./routes/audit.ts") },
  { prefixes: ["/metrics", "/doctor"], load: () => import("./routes/service.ts") },
  { prefixes: ["/healthz", "/readyz"], isOpen: true, load: () => import("./routes/health.ts") },
  { prefixes: ["/ui/session"], isOpen: true, load: () => import("./routes/web_sessions.ts") },
  { prefixes: ["/ui"], isOpen: "below", load: () => import("./routes/ui.ts") },
  {
    prefixes: ["/", "/docs", "/docs/page.css", "/docs/page.js", "/openapi.json", "/schemas/snapshot/v1.json"],
    isOpen: true,
    load: () => import("./routes/documents.ts"),
  },
] as const satisfies readonly Resource[];

/** The gateway's routes; its paths begin with any provider's name, and so come after all others. */
const GATEWAY: Resource = { prefixes: [], load: () => import("./routes/gateway.ts") };

/** The resources by the first segment of their prefixes, each with the segments of one. */
const BY_FIRST_SEGMENT = new Map<string | undefined, { resource: Resource; wanted: readonly string[] }[]>();
for (const resource of RESOURCES) {
  for (const prefix of resource.prefixes) {
    const wanted = prefix.split("/");
    const others = BY_FIRST_SEGMENT.get(wanted[1]) ?? [];
    BY_FIRST_SEGMENT.set(wanted[1], [...others, { resource, wanted }]);
  }
}

/** Every resource, the gateway last. */
export const ALL_RESOURCES: readonly Resource[] = [...RESOURCES, GATEWAY];

/** Returns whether a path belongs to the API's own resources. */
export function isApiPath(path: string): boolean {
  return findOwnResource(path) !== undefined;
}

/** Returns the resource that a path belongs to. */
export function findResource(path: string): Resource | undefined {
  return findOwnResource(path) ?? (mayBeGateway(path) ? GATEWAY : undefined);
}

/** The version of a provider's API as the first or the second segment of a path. */
const VERSION_AT_FIRST = /^\/(?:[^/]*\/)?v1(?:alpha|beta)?(?:\/|$)/;

/** Returns whether a path may be the gateway's, before the config is known. */
export function mayBeGateway(path: string): boolean {
  return VERSION_AT_FIRST.test(path);
}

function findOwnResource(path: string): Resource | undefined {
  const segments = path.split("/");
  let found: { resource: Resource; length: number } | undefined;
  for (const { resource, wanted } of BY_FIRST_SEGMENT.get(segments[1]) ?? []) {
    if (wanted.length <= (found?.length ?? 0)) continue;
    if (
      wanted.every((segment, index) => segment === segments[index] || (segment === ":" && segments[index]))
    ) {
      found = { resource, length: wanted.length };
    }
  }
  return found?.resource;
}

/** Returns whether the routes at exactly this path need no API key. */
export function isOpenPath(path: string): boolean {
  const resource = findOwnResource(path);
  return resource?.isOpen === "below" || (resource?.isOpen === true && resource.prefixes.includes(path));
}
