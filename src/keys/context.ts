import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Query, Store } from "../store/mod.ts";
import type { Secrets } from "../redaction/values/mod.ts";
import type { KeyCache } from "./key_cache.ts";

/** The parts of a process that API keys use. */
export interface KeyContext {
  store: Store;
  query: Query;
  clock: Clock;
  ids: Ids;
  log: Log;
  keyCache: KeyCache;
  /** Takes each key in use, which is kept and shown nowhere. */
  secrets?: Pick<Secrets, "add">;
  /** Registers work that outlives its request, on platforms that end a process with the request. */
  keepAlive?(work: Promise<unknown>): void;
}
