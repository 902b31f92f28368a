import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Query, Store } from "../store/mod.ts";
import type { KeyCache } from "./key_cache.ts";

/** What keys need of the process they are asked for in. */
export interface KeyContext {
  store: Store;
  query: Query;
  clock: Clock;
  ids: Ids;
  log: Log;
  keyCache: KeyCache;
  /** Lets work go on after the answer, where a request would end it. */
  keepAlive?(work: Promise<unknown>): void;
}
