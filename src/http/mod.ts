/** The HTTP API: the app, whole or loaded per resource. `server/mod.ts` listens for it. */
export { type App, createApp, createLazyApp, type FetchHandler } from "./app.ts";
export { permissionsOf } from "./middleware/authorize.ts";
export type { Permission } from "./middleware/permission.ts";
