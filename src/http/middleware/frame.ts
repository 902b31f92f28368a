import type { Core } from "../../service/mod.ts";
import { authorizeRoutes } from "./authorize.ts";
import { nameRequests } from "./name_requests.ts";
import type { ApiEnv } from "./principal.ts";
import { instanceOf, problemResponse, toProblem } from "./problem.ts";
import type { Hono, Schema } from "hono";
import { checkBody } from "./request_body.ts";
import { createRouter, type Router } from "../router.ts";
import { explainUnknownRoute } from "./unknown_route.ts";

/** Makes the routes of one resource. */
export type Routes = (core: Core) => Hono<ApiEnv, Schema>;

/** What a router is framed for. */
interface Framed {
  /** All paths that it answers at, as the table of permissions has them; default: all. */
  paths?: readonly string[];
  /** Routes whose bodies are read as streams, and may be larger than any other. */
  unbounded?: Routes;
}

/** Makes a router with all that stands in front of the API's routes, and behind them. */
export function createFrame(core: Core, { paths, unbounded }: Framed = {}): Router {
  const app = createRouter();
  app.onError((error, c) => problemResponse(toProblem(error, instanceOf(c), core.log, core.ids.next("req"))));
  app.notFound((c) => {
    const error = explainUnknownRoute(app, c);
    const allow = c.res.headers.get("allow");
    return problemResponse(toProblem(error, instanceOf(c), core.log, ""), allow ? { allow } : {});
  });
  app.use(nameRequests(core.telemetry));
  authorizeRoutes(app, core, paths);
  if (unbounded) app.route("/", unbounded(core));
  app.use(checkBody(core.maxBodyBytes));
  return app;
}
