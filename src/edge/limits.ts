import { PurserError } from "../kernel/errors.ts";

/** A feature that the edge lacks. */
export interface EdgeLimit {
  /** The feature, for the table of the docs. */
  what: string;
  reason: string;
  /** It is refused as `unsupported`, disables a channel, or works differently. */
  effect: "refused" | "silent_channel" | "differs";
  /** The remedy, or the difference. */
  advice: string;
}

/** Maximum characters of a snapshot's messages, and of its events, that are held in memory at the edge. */
export const MAX_EDGE_SNAPSHOT_CHARACTERS = 8 * 1024 * 1024;

/**
 * Everything that an edge deployment can't do. Refusals are made from this table; the table of the docs and the cases
 * that the REST suite skips are checked against it.
 */
export const EDGE_LIMITS = {
  local_database: {
    what: "A local file, or a database in memory",
    reason: "there is no file system, no native code, and no state between requests",
    effect: "refused",
    advice: "set PURSER_DB to the address of a libSQL server",
  },
  config_file: {
    what: "A config file (`PURSER_CONFIG`), but on Deno",
    reason: "there is no file system",
    effect: "refused",
    advice: "put the document into PURSER_CONFIG_JSON",
  },
  tools: {
    what: "Tools from disk (`tools`)",
    reason: "only the code of the bundle is run",
    effect: "refused",
    advice:
      "use the built-in tools, and run agents with tools of their own through a server on the same database",
  },
  large_snapshots: {
    what: `Restoring a snapshot with more than ${
      MAX_EDGE_SNAPSHOT_CHARACTERS / 1024 / 1024
    } Mi characters of messages, or of events`,
    reason:
      "the whole snapshot is checked before any of it is written, and without a temporary file that takes memory",
    effect: "refused",
    advice: "restore it through a server on the same database",
  },
  mail: {
    what: "Mail (channels of kind `smtp`)",
    reason: "it needs sockets, and platforms of this kind block the ports of mail",
    effect: "silent_channel",
    advice: "let a server on the same database deliver for it",
  },
  request_limits: {
    what: "Limits on requests per key and per address (`limits`)",
    reason: "requests share no state",
    effect: "differs",
    advice: "they have no effect: let the platform limit its clients",
  },
  plugins: {
    what: "Channel plugins from disk (`plugins`)",
    reason: "only the code of the bundle is run",
    effect: "silent_channel",
    advice: "let a server on the same database deliver for it",
  },
  secret_files: {
    what: 'Secrets of channels from files (`{"file": "…"}`)',
    reason: "there is no file system",
    effect: "silent_channel",
    advice: "use ${NAME} and a secret variable",
  },
  code_budgets: {
    what: "Budgets and alert rules of a program (`openPurser({ budgets, alerts })`)",
    reason: "only the code of the bundle is run, and the config has none",
    effect: "differs",
    advice:
      "those of the database are kept as elsewhere: store them by `POST /budgets` and `POST /alerts/rules`, or by " +
      "a program on the same database",
  },
  pinned_addresses: {
    what: "Pinning the name of a webhook to the address that was checked",
    reason: "`fetch` resolves names by itself",
    effect: "differs",
    advice: "addresses and localhost are checked as elsewhere; names that can't be public are refused, and " +
      "the platform has to make its private networks unreachable",
  },
  price_updates: {
    what: "Updated prices (`purser prices update`, `price_updates`)",
    reason: "there is no file system, and nothing runs between requests",
    effect: "differs",
    advice: "calls are billed by the prices of the release: deploy a newer one",
  },
  background_work: {
    what: "Work between requests: retries of deliveries, ending the runs of instances that died",
    reason: "nothing runs between requests",
    effect: "differs",
    advice:
      "it is done after requests, at most every 30 s, and by the scheduled handler: trigger it every minute",
  },
  long_runs: {
    what: "Runs longer than the platform keeps a request",
    reason: "the platform ends it, on some 30 s after the client has disconnected",
    effect: "differs",
    advice: "its calls are booked; once its lease has expired, the run is marked `interrupted`",
  },
  gateway_streams: {
    what: "Booking a stream of the gateway whose client has left",
    reason:
      "the platform may end the request with its client, without a word, and does so some 30 s later at the latest",
    effect: "differs",
    advice:
      "such a call may be missing in the ledger; what is reserved for it ends with its lease: send streams that " +
      "must be booked through a server",
  },
  prompt_cancel: {
    what: "Cancelling a run at once",
    reason: "requests share only the database",
    effect: "differs",
    advice: "the run is cancelled at its next model call, or within 10 s",
  },
} as const satisfies Record<string, EdgeLimit>;

/** The name of a feature that the edge lacks. */
export type EdgeLimitName = keyof typeof EDGE_LIMITS;

/** Returns the error for a feature that the edge lacks: `Cannot <action> at the edge: <reason>; <remedy>`. */
export function unsupportedAtEdge(action: string, name: EdgeLimitName): PurserError {
  const { reason, advice } = EDGE_LIMITS[name];
  return new PurserError("unsupported", `Cannot ${action} at the edge: ${reason}; ${advice}`);
}
