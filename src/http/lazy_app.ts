import type { Core } from "../service/mod.ts";
import { createFrame, type Routes } from "./middleware/frame.ts";
import type { ApiEnv } from "./middleware/principal.ts";
import { problemResponse, toProblem } from "./middleware/problem.ts";
import { isAt } from "./middleware/unknown_route.ts";

/** Whatever answers the API's requests in this process. */
export interface Answering {
  fetch(request: Request, env?: ApiEnv["Bindings"]): Response | Promise<Response>;
}

/** Routes that are loaded together: those of one resource, or few. */
interface Part {
  /** All the paths at which it has routes; none of them has routes of another part. */
  paths: readonly string[];
  load(): Promise<{ routes: readonly Routes[]; unbounded?: Routes }>;
}

/** The parts that commands ask for, which should not have to wait for the others; whatever is in none needs all. */
export const PARTS: readonly Part[] = [
  {
    paths: ["/agents", "/agents/:agent_id"],
    load: async () => ({ routes: [(await import("./routes/agents.ts")).agentRoutes] }),
  },
  {
    paths: ["/agents/:agent_id/runs", "/runs/:run_id", "/runs/:run_id/cancel"],
    load: async () => ({ routes: [(await import("./routes/runs.ts")).runRoutes] }),
  },
  {
    paths: [
      "/sessions",
      "/agents/:agent_id/sessions",
      "/sessions/:session_id",
      "/sessions/:session_id/events",
      "/sessions/:session_id/costs",
    ],
    load: async () => ({ routes: [(await import("./routes/sessions.ts")).sessionRoutes] }),
  },
  {
    paths: [
      "/agents/snapshot/restore",
      "/agents/:session_id/snapshot",
      "/sessions/:session_id/events/imported",
      "/schemas/snapshot/v1.json",
    ],
    async load() {
      const { restoreRoutes, snapshotRoutes } = await import("./routes/snapshots.ts");
      return { routes: [snapshotRoutes], unbounded: restoreRoutes };
    },
  },
  {
    paths: ["/costs"],
    load: async () => ({ routes: [(await import("./routes/costs.ts")).costRoutes] }),
  },
  {
    paths: ["/costs/events"],
    load: async () => ({ routes: [(await import("./routes/cost_events.ts")).costEventRoutes] }),
  },
  {
    paths: ["/anomalies"],
    load: async () => ({ routes: [(await import("./routes/anomalies.ts")).anomalyRoutes] }),
  },
  {
    paths: [
      "/alerts/rules",
      "/alerts/rules/:rule_id",
      "/alerts/rules/:rule_id/test",
      "/alerts/history",
    ],
    load: async () => ({ routes: [(await import("./routes/alerts.ts")).alertRoutes] }),
  },
  {
    paths: ["/channels", "/channels/:name/test"],
    load: async () => ({ routes: [(await import("./routes/channels.ts")).channelRoutes] }),
  },
  {
    paths: ["/events"],
    load: async () => ({ routes: [(await import("./routes/events.ts")).eventRoutes] }),
  },
  {
    paths: ["/keys", "/keys/:key_id"],
    load: async () => ({ routes: [(await import("./routes/keys.ts")).keyRoutes] }),
  },
];

/**
 * The API as `createApp` makes it, each part of it loaded by the first request that is for it. For processes that end
 * after a few requests: to make all routes and their schemas takes longer than most commands.
 */
export function createLateApp(core: Core): Answering {
  const apps = new Map<Part | undefined, Promise<Answering>>();

  async function load(part: Part | undefined): Promise<Answering> {
    if (part === undefined) return (await import("./routes/mod.ts")).createApp(core);
    const { routes, unbounded } = await part.load();
    const app = createFrame(core, { paths: part.paths, unbounded });
    for (const make of routes) app.route("/", make(core));
    return app;
  }

  return {
    async fetch(request, env) {
      const { pathname } = new URL(request.url);
      const part = PARTS.find(({ paths }) => paths.some((path) => isAt(path, pathname)));
      let loading = apps.get(part);
      if (!loading) apps.set(part, loading = load(part));
      let app: Answering;
      try {
        app = await loading;
      } catch (error) {
        apps.delete(part); // the next request tries again
        return problemResponse(toProblem(error, pathname, core.log, core.ids.next("req")));
      }
      return await app.fetch(request, env);
    },
  };
}
