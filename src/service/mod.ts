/** Composition: the parts of a core (`parts.ts`), for a process (`core.ts`) or for one request (`request_core.ts`). */
export { type Core, openCore } from "./core.ts";
export { sweepExpired } from "./maintenance.ts";
export { type CoreOptions, openParts, type Runtime } from "./parts.ts";
export { keepPricesCurrent } from "./price_updates.ts";
export { openRequestCore, type RequestCore, type RequestCoreOptions } from "./request_core.ts";
export { SERVER_DURABILITY, watchServerDurability } from "./watch_durability.ts";
