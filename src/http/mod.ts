/** The HTTP API. */
export { readAgentDefinition } from "./agent_definition.ts";
export { type App, createApp } from "./app.ts";
export { type Guard, isLoopback, loopbackGuard, tokenGuard } from "./guard.ts";
export { type Problem, problemResponse, toProblem } from "./problem.ts";
export { listen, type Listening, serve } from "./serve.ts";
