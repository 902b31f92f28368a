/** The HTTP API. */
export { readAgentDefinition } from "./agent_definition.ts";
export { type App, createApp } from "./app.ts";
export { behindGuard, createDoor } from "./door.ts";
export { isLoopback, loopbackGuard, tokenGuard } from "./guard.ts";
export { type Handler, listen, type Listening } from "./listen.ts";
export { pathOf, type Problem, problemResponse, toProblem } from "./problem.ts";
export { serve } from "./serve.ts";
export { warnOfWeakServer } from "./warn_of_weak_server.ts";
