import type { Core } from "../../service/mod.ts";
import { makeDocument } from "../openapi/document.ts";
import { createFrame } from "../middleware/frame.ts";
import { agentRoutes } from "./agents.ts";
import { alertRoutes } from "./alerts.ts";
import { anomalyRoutes } from "./anomalies.ts";
import { channelRoutes } from "./channels.ts";
import { costEventRoutes } from "./cost_events.ts";
import { costRoutes } from "./costs.ts";
import { doctorRoutes } from "./doctor.ts";
import { documentRoutes } from "./documents.ts";
import { eventRoutes } from "./events.ts";
import { healthRoutes } from "./health.ts";
import { keyRoutes } from "./keys.ts";
import { metricsRoutes } from "./metrics.ts";
import { runRoutes } from "./runs.ts";
import { sessionRoutes } from "./sessions.ts";
import { restoreRoutes, snapshotRoutes } from "./snapshots.ts";

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
export { readAgentDefinition } from "./agent_definition.ts";
