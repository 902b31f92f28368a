/** The HTTP API: its doors, and the API as it is loaded part by part. All of it at once is in `api.ts`. */
export type { App } from "./app.ts";
export { createDoor } from "./door.ts";
export { isLoopback, loopbackGuard } from "./guard.ts";
export { type Answering, createLateApp } from "./late_app.ts";
export { type Handler, listen, type Listening } from "./listen.ts";
export { pathOf, type Problem, problemResponse, toProblem } from "./problem.ts";
export { serve } from "./serve.ts";
export { warnOfWeakServer } from "./warn_of_weak_server.ts";
