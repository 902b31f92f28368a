/** Composition: the parts of a core (`core_parts.ts`, opened in `parts.ts`), for a process or for one request (`core.ts`). */
export { type Core, openCore, openRequestCore, type RequestCore, type RequestCoreOptions } from "./core.ts";
export { sweepExpired } from "./maintenance.ts";
export { keepPricesCurrent } from "./price_updates.ts";
export { openParts } from "./parts.ts";
export type { CoreOptions, Runtime } from "./core_parts.ts";
export { SERVER_DURABILITY, watchServerDurability } from "./watch_durability.ts";
