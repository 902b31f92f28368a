/** What a process or a request works with, put together: see `core.ts` and `request_core.ts`. */
export { assembleCore, type Core, type CoreOptions, openCore, recover, type Runtime, tidy } from "./core.ts";
export { openRequestCore, type RequestCore, type RequestCoreOptions } from "./request_core.ts";
export { warnOfWeakServer, WEAK_SERVER } from "./watch_durability.ts";
