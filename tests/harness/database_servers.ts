import { skipPostgres, startPostgres } from "./postgres.ts";
import { skipSqld, startSqld } from "./sqld.ts";
import { isThorough } from "./thorough.ts";

/** A server of databases that a test freezes, kills and starts again. */
export interface DatabaseServer extends AsyncDisposable {
  /** The address of its default database. */
  readonly url: string;
  /** Creates a new, empty database, under a name of its own unless one is given. */
  createDatabase(name?: string): Promise<ServedDatabase>;
  removeDatabase(name: string): Promise<void>;
  /** Stops its processes (SIGSTOP): once they have, connections are accepted and never answered. */
  pause(): Promise<void>;
  resume(): void;
  /** Kills its processes at once (SIGKILL). */
  kill(): Promise<void>;
  /** Starts it again over the same directory and port. */
  restart(): Promise<void>;
}

/** A database of a server: its address, and the `fetch` that reaches it where it is one of several at that address. */
export interface ServedDatabase {
  name: string;
  url: string;
  fetch?: typeof globalThis.fetch;
}

/** A kind of server. */
export interface ServerKind {
  name: "sqld" | "postgres";
  /** True if its tests are skipped on this machine. */
  ignore: boolean;
  /** Starts one of which each commit is on the disk before it is answered; or else one that is faster. */
  start(isDurable: boolean): Promise<DatabaseServer>;
}

/** The kinds of server on which several processes share a database. */
export const SERVER_KINDS: readonly ServerKind[] = [
  {
    name: "sqld",
    ignore: skipSqld,
    start: (isDurable) => startSqld({ durability: isDurable ? "strong" : "relaxed" }),
  },
  {
    name: "postgres",
    ignore: skipPostgres,
    start: (isDurable) => startPostgres(isDurable ? ["fsync=on", "full_page_writes=on"] : []),
  },
];

/** The places of a database that several processes share: a file, or a server. */
export type SharedWhere = "file" | ServerKind["name"];

/** The same, for suites that the gate has no time to run over each: only a thorough run has sqld, which takes four times as much of a processor. */
export const serverKindsInTime: readonly ServerKind[] = SERVER_KINDS.filter(({ name }) =>
  name === "postgres" || isThorough
);

/** The places of such suites. */
export const sharedInTime: readonly { where: SharedWhere; ignore: boolean }[] = [
  { where: "file", ignore: false },
  ...serverKindsInTime.map(({ name, ignore }) => ({ where: name, ignore })),
];

/** Creates an empty database: a file, or that of a server of its own. */
export async function createShared(
  where: SharedWhere,
  isDurable = false,
): Promise<AsyncDisposable & { db: string; server?: DatabaseServer; folder: string }> {
  const folder = await Deno.makeTempDir({ prefix: "purser_shared_" });
  const server = await SERVER_KINDS.find(({ name }) => name === where)?.start(isDurable);
  return {
    db: server?.url ?? `${folder}/purser.db`,
    server,
    folder,
    async [Symbol.asyncDispose]() {
      await server?.[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
