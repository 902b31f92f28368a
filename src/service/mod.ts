/**
 * Composition: the parts of a process (`parts.ts`), and those that make, book and watch calls, and deliver alerts (`work.ts`), for
 * a process (`core.ts`) or for one request (`request_core.ts`).
 */
export { type Core, openCore, openLazyCore, type WholeCore } from "./core.ts";
export { openRequestCore, type RequestCore, type RequestCoreOptions } from "./request_core.ts";
export { keepPricesCurrent } from "./price_updates.ts";
export type { CoreOptions } from "./core_parts.ts";
export { watchServerDurability } from "./watch_durability.ts";
