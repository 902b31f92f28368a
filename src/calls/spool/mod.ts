/** The spool: calls that were made and could not be booked, on the disk of this machine until the ledger takes them. */
import type { DatabaseAddress } from "../../kernel/database_url.ts";
import type { Log } from "../../kernel/log.ts";
import type { Store } from "../../store/mod.ts";
import type { SpooledCall } from "./spooled_call.ts";

export type { SpooledCall } from "./spooled_call.ts";

/** A call in the spool of this process. */
export interface KeptCall extends SpooledCall {
  /** True while its run may still book it, together with its messages; no other process books it then. */
  isClaimed: boolean;
  /** Marks it as booked. */
  done(): Promise<void>;
}

/** The spool of a process that has ended. */
export interface LeftSpool {
  file: string;
  calls: readonly SpooledCall[];
  /** Removes it once its calls are booked. A damaged one is renamed; one with calls that can't be read here stays. */
  remove(): Promise<void>;
}

/** The spool of a process. */
export interface CallSpool {
  /** The folder that the processes of this machine share for a database; null where nothing is spooled. */
  readonly folder: string | null;
  /** True once a call could not be booked: no further call is made until the ledger takes writes again. */
  isLedgerDown: boolean;
  /** True while its calls are tried again. */
  isRetrying: boolean;
  /** The ids of calls that the database refuses and the files of another ledger, each of which is logged once. */
  readonly logged: Set<string>;
  /** Aborts when the process closes it. */
  readonly stopping: AbortSignal;
  /** Makes room in the background, before a call is sent. */
  prepare(callsInProgress?: number): void;
  /** Writes a call; resolves once it is on the disk, or rejects if it can't be. */
  write(spooled: Pick<SpooledCall, "call" | "grant">): Promise<KeptCall>;
  /** Returns the calls that this process has spooled and not booked yet, oldest first. */
  kept(): KeptCall[];
  /** Reads the spools that dead processes have left. */
  readLeft(): Promise<LeftSpool[]>;
  /** Closes the file, and removes it unless calls wait in it. */
  close(): Promise<void>;
}

/** The options of a spool. */
export interface SpoolOptions {
  database: DatabaseAddress;
  /** The folder of the setting; see `folderOf()`. */
  folder: string | undefined;
  log: Log;
  /** Removes secrets from a record, as from everything that is stored. */
  scrub: (text: string) => string;
  /** Identifies the ledger, so that another database with the same path never gets its calls. */
  readLedger: () => Promise<string | null>;
}

/** Opens the spool of a process. Nothing is written before its first call. */
export async function openCallSpool({ database, folder, ...options }: SpoolOptions): Promise<CallSpool> {
  const { createCallSpool, folderOf } = await import("./call_spool.ts"); // an edge has no files
  const own = await folderOf(database, folder);
  return own === undefined ? noSpool() : createCallSpool({ folder: own, ...options });
}

/** Identifies the ledger that a process has open: by the time of its first migration. */
export async function readLedgerId(store: Pick<Store, "read">): Promise<string | null> {
  const { rows } = await store.read({ sql: "SELECT min(applied_at) FROM purser_migrations" });
  return rows[0]?.[0] == null ? null : String(rows[0][0]);
}

/** Returns the spool of a process without files. A call that can't be booked is logged, and held in its budgets. */
export function noSpool(): CallSpool {
  return {
    folder: null,
    isLedgerDown: false,
    isRetrying: false,
    logged: new Set(),
    stopping: AbortSignal.abort(),
    prepare() {},
    write: () => Promise.reject(new Error("nothing is spooled here")),
    kept: () => [],
    readLeft: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  };
}
