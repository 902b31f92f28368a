/** The HTTP API. */
export { type App, createApp } from "./app.ts";
export type { Problem } from "./problem.ts";
