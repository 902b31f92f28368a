/** The whole API, with all routes and schemas: for whoever has the time to load them before the first request. */
export { readAgentDefinition } from "./agent_definition.ts";
export { createApp } from "./app.ts";
