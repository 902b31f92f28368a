/** The HTTP API: the app, whole or loaded per resource, and the servers that listen for it. */
export { type App, createApp, createLazyApp, type FetchHandler } from "./app.ts";
export { withAccessCheck } from "./middleware/access_check.ts";
export { checkLoopbackRequest } from "./middleware/loopback.ts";
export { permissionsOf } from "./middleware/authorize.ts";
export type { Permission } from "./middleware/permission.ts";
export { pathOf, type Problem, problemResponse, toProblem } from "./middleware/problem.ts";
export { type Handler, listen, type Listening, listenOptionsOf, serve } from "./server/listen.ts";
