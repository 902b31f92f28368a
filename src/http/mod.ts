/** The HTTP API: its doors, and the API as it is loaded part by part. All of it at once is in `api.ts`. */
export type { App } from "./routes/mod.ts";
export { createDoor } from "./middleware/authenticate.ts";
export { isLoopback, loopbackGuard } from "./middleware/guard.ts";
export { type Answering, createLateApp } from "./lazy_app.ts";
export { type Handler, listen, type Listening } from "./server/listen.ts";
export { pathOf, type Problem, problemResponse, toProblem } from "./middleware/problem.ts";
export { serve } from "./server/serve.ts";
export { watchServerDurability } from "../service/mod.ts";
