import { PurserError } from "../kernel/errors.ts";

/** Something that a Purser elsewhere can do, and one at the edge can't. */
export interface EdgeLimit {
  /** What it is. */
  what: string;
  /** Why it can't be done there. */
  reason: string;
  /** Whether it is refused as `unsupported`, leaves a channel that can't send there, or only goes another way. */
  effect: "refused" | "silent_channel" | "differs";
  /** What to do about it, or how else it goes. */
  advice: string;
}

/** How many characters of a snapshot's messages, and of its events, are held in memory at the edge. */
export const MAX_EDGE_SNAPSHOT_CHARACTERS = 8 * 1024 * 1024;

/**
 * All that an edge deployment can't do: the one table. What is refused is refused from it; the table of the docs and
 * the cases that the REST suite leaves out are checked against it.
 */
export const EDGE_LIMITS = {
  local_database: {
    what: "A local file, or a database in memory",
    reason: "there is no file system, no native code, and nothing stays between requests",
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
    reason: "no code is run but that of the bundle",
    effect: "refused",
    advice:
      "use the built-in tools, and run agents with tools of their own through a server on the same database",
  },
  large_snapshots: {
    what: `Restoring a snapshot with more than ${
      MAX_EDGE_SNAPSHOT_CHARACTERS / 1024 / 1024
    } Mi characters of messages, or of events`,
    reason:
      "all of it is checked before any of it is written, and without a temporary file it stays in memory",
    effect: "refused",
    advice: "restore it through a server on the same database",
  },
  mail: {
    what: "Mail (channels of kind `smtp`)",
    reason: "it needs sockets, and platforms of this kind keep the ports of mail closed",
    effect: "silent_channel",
    advice: "let a server on the same database deliver for it",
  },
  plugins: {
    what: "Channel plugins from disk (`plugins`)",
    reason: "no code is run but that of the bundle",
    effect: "silent_channel",
    advice: "let a server on the same database deliver for it",
  },
  secret_files: {
    what: 'Secrets of channels from files (`{"file": "…"}`)',
    reason: "there is no file system",
    effect: "silent_channel",
    advice: "use ${NAME} and a secret variable",
  },
  pinned_addresses: {
    what: "Pinning the name of a webhook to the address that was checked",
    reason: "`fetch` looks names up by itself",
    effect: "differs",
    advice:
      "addresses and localhost are judged as elsewhere; of names, those that can't be public are refused, and " +
      "the platform has to keep its private networks out of reach",
  },
  background_work: {
    what: "Work between requests: retries of deliveries, ending the runs of instances that died",
    reason: "nothing runs between requests",
    effect: "differs",
    advice:
      "it is done after requests, every 30 s at most, and by the scheduled handler: trigger that each minute",
  },
  long_runs: {
    what: "Runs longer than the platform keeps a request",
    reason: "the platform ends it, on some 30 s after the client has gone",
    effect: "differs",
    advice:
      "what was called is booked; the lease expires, and the run is marked `interrupted` at the next trigger",
  },
  prompt_cancel: {
    what: "Cancelling a run at once",
    reason: "requests share nothing but the database",
    effect: "differs",
    advice: "the run ends at its next model call, or within 10 s",
  },
} as const satisfies Record<string, EdgeLimit>;

/** The name of something that can't be done at the edge. */
export type EdgeLimitName = keyof typeof EDGE_LIMITS;

/** The error for what an edge can't do: `Cannot <action> at the edge: <reason>; <what to do>`. */
export function unsupportedAtEdge(action: string, name: EdgeLimitName): PurserError {
  const { reason, advice } = EDGE_LIMITS[name];
  return new PurserError("unsupported", `Cannot ${action} at the edge: ${reason}; ${advice}`);
}
