/** The API without native code, files and background work, for `main.ts` on edge runtimes. */
export { createEdgeHandler, type EdgeContext, type EdgeHandler, type EdgeOptions } from "./handler.ts";
export { EDGE_LIMITS, type EdgeLimit, type EdgeLimitName, unsupportedAtEdge } from "./limits.ts";
export type { EdgeBindings } from "./settings.ts";
