import { bodyLimit } from "hono/body-limit";
import type { Core } from "../core.ts";
import { PurserError } from "../errors.ts";
import { VERSION } from "../version.ts";
import { docsPage } from "./docs_page.ts";
import { instanceOf, problemResponse, toProblem } from "./problem.ts";
import { createRouter } from "./router.ts";
import { agentRoutes } from "./routes/agents.ts";
import { costRoutes } from "./routes/costs.ts";
import { eventRoutes } from "./routes/events.ts";
import { healthRoutes } from "./routes/health.ts";
import { runRoutes } from "./routes/runs.ts";
import { sessionRoutes } from "./routes/sessions.ts";

const JSON_TYPE = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i;

/** The API of one core: the same for the network, the edge, the CLI in-process and the library. */
export function createApp(core: Core) {
  const app = createRouter();
  app.onError((error, c) => problemResponse(toProblem(error, instanceOf(c), core.log, core.ids.next("req"))));
  app.notFound((c) => {
    const error = new PurserError(
      "not_found",
      `Cannot find ${c.req.method} ${c.req.path}: see /docs for what there is`,
    );
    return problemResponse(toProblem(error, instanceOf(c), core.log, ""));
  });
  app.use(bodyLimit({
    maxSize: core.maxBodyBytes,
    onError: () => {
      throw new PurserError("too_large", `Cannot read the body: it is over ${core.maxBodyBytes} bytes`);
    },
  }));
  app.use(async (c, next) => {
    if (c.req.raw.body !== null && !JSON_TYPE.test(c.req.header("content-type") ?? "")) {
      throw new PurserError(
        "unsupported_media_type",
        "Cannot read the body: send it as Content-Type: application/json",
      );
    }
    await next();
  });

  const document = () =>
    app.getOpenAPI31Document({
      openapi: "3.1.0",
      info: {
        title: "Purser",
        version: VERSION,
        description:
          "Runs LLM agents, books every model call in an exact ledger, and stops a run at its budget.",
        license: { name: "MIT", url: "https://opensource.org/license/mit" },
      },
      servers: [{ url: "/" }],
    });
  app.get("/openapi.json", (c) => c.json(document()));
  app.get("/docs", (c) => c.html(docsPage(document())));
  app.get("/", (c) => c.redirect("/docs"));

  return app
    .route("/", agentRoutes(core))
    .route("/", runRoutes(core))
    .route("/", sessionRoutes(core))
    .route("/", costRoutes(core))
    .route("/", eventRoutes(core))
    .route("/", healthRoutes(core));
}

/** The API's type, from which the client's is made. */
export type App = ReturnType<typeof createApp>;
