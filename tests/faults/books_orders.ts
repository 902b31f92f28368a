import type { DriverFault } from "./driver_faults.ts";

/** The budget of each metered run. */
export const STRICT_LIMIT_NANO_USD = 2_000_000;

/** A database as passed to a process. */
export interface Place {
  /** A path or an address. */
  db: string;
  /** The host name of the database on its server. */
  host?: string;
  /** The URL of the webhooks; without it, alerts go to the log alone. */
  hook?: string;
  /** The base URL of the model provider that keeps the bill; without it, models are in the process. */
  provider?: string;
  /** The price of an output token of `fake:steps`, which a repricing applies to the calls of others. */
  outputUsdPerMillion?: number;
  /** The timeout of a request to a server. */
  timeoutMs?: number;
}

/** An order for a worker. */
export type Order =
  /** Opens the database; its calls carry `name`. */
  | { open: Place & { name: string } }
  /** Performs random actions, some at a time: so many in all, or until it is ordered to rest. */
  | {
    work: {
      seed: number;
      base: number;
      lanes: number;
      count?: number;
      changesRules?: boolean;
      isAway?: boolean;
      /** Also imports and reprices. */
      hasAll?: boolean;
      /** The longest pause before an action. */
      pauseMs?: number;
    };
  }
  /** Sets the clock of the process off by so much. */
  | { step: number }
  /** Makes SQLite fail; the worker says when it has. */
  | { fault: DriverFault }
  | { rest: true }
  /** Delivers what is pending, sweeps if `sweeps`, and closes the database. */
  | { close: { sweeps: boolean } };

/** A line of a worker. */
export interface Line {
  /** The order with this number, from 1, was carried out. */
  done?: number;
  instance?: string;
  /** A call that was published on the bus, and its cost. */
  call?: { id: string; cost: number };
  /** A run that has ended. */
  run?: { id: string; status: string; cost: number; steps: number };
  /** Calls of a report that was acknowledged; they are in the ledger. */
  reported?: string[];
  alert?: string;
  /** The number of a document that was imported. */
  imported?: number;
  /** A repricing that was applied. */
  repriced?: string;
  /** SQLite has failed as ordered. */
  hit?: string;
  /** The database was unavailable, and an action was refused. */
  refused?: true;
  /** Something unexpected. */
  trouble?: string;
}

/** A call with this name must never be booked: its report also holds a call that is refused. */
export const REFUSED = "refused";
