/** Composition: the parts of a core (`parts.ts`), for a process or for one request (`core.ts`). */
export { type Core, openCore, openRequestCore, type RequestCore, type RequestCoreOptions } from "./core.ts";
export { sweepExpired } from "./maintenance.ts";
export { type CoreOptions, openParts, type Runtime } from "./parts.ts";
export { SERVER_DURABILITY, watchServerDurability } from "./watch_durability.ts";
