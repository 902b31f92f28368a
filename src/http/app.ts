import type { Core } from "../service/core.ts";
import { makeDocument } from "./openapi/document.ts";
import { createFrame } from "./middleware/frame.ts";
import { agentRoutes } from "./routes/agents.ts";
import { alertRoutes } from "./routes/alerts.ts";
import { anomalyRoutes } from "./routes/anomalies.ts";
import { channelRoutes } from "./routes/channels.ts";
import { costEventRoutes } from "./routes/cost_events.ts";
import { costRoutes } from "./routes/costs.ts";
import { doctorRoutes } from "./routes/doctor.ts";
import { documentRoutes } from "./routes/documents.ts";
import { eventRoutes } from "./routes/events.ts";
import { healthRoutes } from "./routes/health.ts";
import { keyRoutes } from "./routes/keys.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { runRoutes } from "./routes/runs.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { restoreRoutes, snapshotRoutes } from "./routes/snapshots.ts";

/** The API of one core: the same for the network, the edge, the CLI in-process and the library. */
export function createApp(core: Core) {
  const app = createFrame(core, { unbounded: restoreRoutes });
  return app
    .route("/", agentRoutes(core))
    .route("/", runRoutes(core))
    .route("/", sessionRoutes(core))
    .route("/", snapshotRoutes(core))
    .route("/", costRoutes(core))
    .route("/", costEventRoutes(core))
    .route("/", alertRoutes(core))
    .route("/", channelRoutes(core))
    .route("/", anomalyRoutes(core))
    .route("/", eventRoutes(core))
    .route("/", healthRoutes(core))
    .route("/", metricsRoutes(core))
    .route("/", doctorRoutes(core))
    .route("/", keyRoutes(core))
    .route("/", documentRoutes(() => makeDocument(app)));
}

/** The API's type, from which the client's is made. */
export type App = ReturnType<typeof createApp>;
