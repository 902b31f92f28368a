import type { Core } from "../core.ts";
import { authorizeRoutes } from "./authorize.ts";
import { makeDocument } from "./document.ts";
import { instanceOf, problemResponse, toProblem } from "./problem.ts";
import { checkBody } from "./request_body.ts";
import { createReads } from "./reads.ts";
import { createRouter } from "./router.ts";
import { nameRequests } from "./name_requests.ts";
import { agentRoutes } from "./routes/agents.ts";
import { anomalyRoutes } from "./routes/anomalies.ts";
import { alertRoutes } from "./routes/alerts.ts";
import { channelRoutes } from "./routes/channels.ts";
import { costRoutes } from "./routes/costs.ts";
import { doctorRoutes } from "./routes/doctor.ts";
import { documentRoutes } from "./routes/documents.ts";
import { eventRoutes } from "./routes/events.ts";
import { healthRoutes } from "./routes/health.ts";
import { keyRoutes } from "./routes/keys.ts";
import { runRoutes } from "./routes/runs.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { restoreRoutes, snapshotRoutes } from "./routes/snapshots.ts";
import { explainUnknownRoute } from "./unknown_route.ts";

/** The API of one core: the same for the network, the edge, the CLI in-process and the library. */
export function createApp(core: Core) {
  const app = createRouter();
  const { reads, noteWrites } = createReads(core);
  app.onError((error, c) => problemResponse(toProblem(error, instanceOf(c), core.log, core.ids.next("req"))));
  app.notFound((c) => {
    const error = explainUnknownRoute(app, c);
    const allow = c.res.headers.get("allow");
    return problemResponse(toProblem(error, instanceOf(c), core.log, ""), allow ? { allow } : {});
  });
  app.use(nameRequests(core.telemetry));
  authorizeRoutes(app, core);
  if (noteWrites) app.use(noteWrites);
  // Before the check of bodies: a snapshot is larger than any, and read as a stream.
  app.route("/", restoreRoutes(core));
  app.use(checkBody(core.maxBodyBytes));

  return app
    .route("/", agentRoutes(core))
    .route("/", runRoutes(core))
    .route("/", sessionRoutes(core, reads))
    .route("/", snapshotRoutes(core))
    .route("/", costRoutes(core, reads))
    .route("/", alertRoutes(core, reads))
    .route("/", channelRoutes(core))
    .route("/", anomalyRoutes(reads))
    .route("/", eventRoutes(core))
    .route("/", healthRoutes(core))
    .route("/", metricsRoutes(core))
    .route("/", doctorRoutes(core))
    .route("/", keyRoutes(core))
    .route("/", documentRoutes(() => makeDocument(app)));
}

/** The API's type, from which the client's is made. */
export type App = ReturnType<typeof createApp>;
