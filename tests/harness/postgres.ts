import { join } from "node:path";
import pg from "pg";
import type { DatabaseServer, ServedDatabase } from "./database_servers.ts";

/** The programs of Debian's package postgresql-15. */
export const BINARIES = "/usr/lib/postgresql/15/bin";

/** The reason why tests against a real PostgreSQL can't run on this machine, or undefined if they can. */
export const postgresMissing: string | undefined = await hasPostgres()
  ? undefined
  : "Debian's package postgresql-15 is not installed";

/** True if tests of a real server are skipped; in the full gate they run, and fail. */
export const skipPostgres: boolean = postgresMissing !== undefined &&
  Deno.env.get("PURSER_REQUIRE_ALL") !== "1";

async function hasPostgres(): Promise<boolean> {
  try {
    return (await Deno.stat(`${BINARIES}/postgres`)).isFile;
  } catch {
    return false;
  }
}

/** The user that owns every database of a test's server. */
export const POSTGRES_USER = "purser";

/** A PostgreSQL server that tests create databases on. */
export interface PostgresDatabases extends AsyncDisposable {
  /** The address of a database on this server. */
  urlOf(database: string): string;
  /** Creates a database, empty or as a copy of one that is not in use. */
  createDatabase(name?: string, template?: string): Promise<PostgresDatabase>;
}

/** A PostgreSQL server that runs for a test. */
export interface Postgres extends Omit<PostgresDatabases, "createDatabase">, DatabaseServer {
  readonly port: number;
  readonly pid: number;
  createDatabase(name?: string, template?: string): Promise<PostgresDatabase>;
  /** The ids of its processes that serve connections. */
  backends(): Promise<number[]>;
}

/** A database of a test, which is dropped at its end. */
export interface PostgresDatabase extends ServedDatabase, AsyncDisposable {}

/** Roles that are given this one are asked for their password. */
export const ASKED_FOR_PASSWORD = "asked_for_password";

const ACCESS = `host all +${ASKED_FOR_PASSWORD} all scram-sha-256
host all all all trust
host replication all all trust
`;

/** Has the port of the server that all modules of a run share; `tests/run_tests.ts` starts it. */
export const SHARED_PORT = "PURSER_TEST_POSTGRES_PORT";

/** Returns the server that the modules of a run share; a module that is run by itself starts one. */
export async function sharedPostgres(): Promise<PostgresDatabases> {
  const port = Deno.env.get(SHARED_PORT);
  return port === undefined ? await startPostgres() : databasesAt(Number(port));
}

/** Has the data of a new server, of which the servers of a run begin with copies; `tests/run_tests.ts` makes it. */
export const MADE_DATA = "PURSER_TEST_POSTGRES_DATA";

/** Creates a temporary folder of the user that servers run as. */
async function newFolder(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "purser-postgres-" });
  if (Deno.uid() === 0) await Deno.chown(folder, NOBODY, NOBODY);
  return folder;
}

/** Makes the data of a new server, for `MADE_DATA`: a server starts with a copy in a tenth of the processor time. */
export async function makeData(): Promise<AsyncDisposable & { data: string }> {
  const folder = await newFolder();
  const data = join(folder, "data");
  await initialize(data);
  return { data, [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }) };
}

async function initialize(data: string): Promise<void> {
  await run("initdb", [
    ...["-D", data, "-U", POSTGRES_USER, "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8"],
    ...["--locale-provider=icu", "--icu-locale=en-US", "--no-sync", "--no-instructions"],
  ]);
  await Deno.writeTextFile(join(data, "pg_hba.conf"), ACCESS);
}

/**
 * Starts a server over a temporary directory, or a read replica of another one, and waits until it answers. Its order of texts
 * isn't that of bytes, as on most servers. It doesn't flush commits to the disk. Throws if the server isn't available on this
 * machine.
 */
export async function startPostgres(
  settings: readonly string[] = [],
  replicaOf?: Postgres,
): Promise<Postgres> {
  if (postgresMissing) throw new Error(`Cannot start PostgreSQL: ${postgresMissing}`);
  const directory = await newFolder();
  const data = join(directory, "data");
  if (replicaOf) {
    const from = ["-h", "127.0.0.1", "-p", `${replicaOf.port}`, "-U", POSTGRES_USER];
    await run("pg_basebackup", [...from, "-D", data, "-R", "--checkpoint=fast", "--no-sync"]);
  } else {
    const made = Deno.env.get(MADE_DATA);
    await (made === undefined ? initialize(data) : run("cp", ["-rp", made, data]));
  }
  const options = [
    ...["fsync=off", "full_page_writes=off", "max_connections=200", "listen_addresses=127.0.0.1"],
    ...["unix_socket_directories=", "shared_buffers=64MB", "autovacuum=off", "logging_collector=off"],
    ...settings,
  ];
  const start = (port: number) =>
    spawn("postgres", ["-D", data, "-p", `${port}`, ...options.flatMap((option) => ["-c", option])]);
  for (let attempt = 1;; attempt++) {
    const port = 16_000 + Math.floor(Math.random() * 16_000);
    const child = start(port);
    if (await answers(child, port)) return serverOf(child, port, directory, start);
    if (attempt === 5) throw new Error("Cannot start PostgreSQL: it ended");
  }
}

export const NOBODY = 65_534;

/** The server refuses to run as root. */
function command(program: string, args: readonly string[]): [string, string[]] {
  const path = program === "cp" ? program : `${BINARIES}/${program}`;
  if (Deno.uid() !== 0) return [path, [...args]];
  return ["setpriv", [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", path, ...args]];
}

function spawn(program: string, args: readonly string[]): Deno.ChildProcess {
  const [path, all] = command(program, args);
  return new Deno.Command(path, { args: all, stdin: "null", stdout: "null", stderr: "null", cwd: "/" })
    .spawn();
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const [path, all] = command(program, args);
  const { success, stderr } = await new Deno.Command(path, { args: all, cwd: "/" }).output();
  if (!success) throw new Error(`Cannot run ${program}: ${new TextDecoder().decode(stderr)}`);
}

/** Waits until the server accepts a query; false if it ends before, as where the port is taken. */
async function answers(child: Deno.ChildProcess, port: number): Promise<boolean> {
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  while (!hasEnded) {
    try {
      await run("pg_isready", ["-q", "-h", "127.0.0.1", "-p", `${port}`]);
      return true;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20)); // not listening yet
    }
  }
  return false;
}

/** The children of a process. */
async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await new Deno.Command("pgrep", { args: ["-P", `${pid}`] }).output();
  return new TextDecoder().decode(stdout).split("\n").map(Number).filter((child) => child > 0);
}

function signal(pids: readonly number[], name: Deno.Signal): void {
  for (const pid of pids) {
    try {
      Deno.kill(pid, name);
    } catch {
      // it has ended
    }
  }
}

/** Stops processes, and waits until they have: a signal takes effect a moment later. */
async function stop(pids: readonly number[]): Promise<void> {
  signal(pids, "SIGSTOP");
  const states = new Deno.Command("grep", {
    args: ["-hs", "^State:", ...pids.map((pid) => `/proc/${pid}/status`)],
  });
  for (;;) {
    const { stdout } = await states.output();
    if (!/^State:\s+[^TZX]/m.test(new TextDecoder().decode(stdout))) return;
  }
}

/** The databases of a running server. */
function databasesAt(port: number): PostgresDatabases & Pick<DatabaseServer, "removeDatabase"> {
  const urlOf = (database: string) => `postgres://${POSTGRES_USER}@127.0.0.1:${port}/${database}`;
  let admin: Promise<pg.Client> | undefined;
  const execute = async (sql: string) => {
    admin ??= (async () => {
      const client = new pg.Client({ connectionString: urlOf("postgres") });
      client.on("error", () => admin = undefined); // the server was killed
      await client.connect();
      return client;
    })();
    await (await admin).query(sql);
  };
  const removeDatabase = (name: string) => execute(`DROP DATABASE ${name} WITH (FORCE)`);
  let count = 0;
  return {
    urlOf,
    async createDatabase(name = `db${++count}`, template = "template1") {
      // Without a flush to the disk, copies of files take half the time of a copy through the log.
      await execute(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
      return { name, url: urlOf(name), [Symbol.asyncDispose]: () => removeDatabase(name) };
    },
    removeDatabase,
    async [Symbol.asyncDispose]() {
      await (await admin)?.end();
    },
  };
}

function serverOf(
  first: Deno.ChildProcess,
  port: number,
  directory: string,
  start: (port: number) => Deno.ChildProcess,
): Postgres {
  let child = first;
  let stopped: number[] = [];
  const databases = databasesAt(port);
  return {
    ...databases,
    port,
    get pid() {
      return child.pid;
    },
    url: databases.urlOf("postgres"),
    async backends() {
      const args = ["-f", "-P", `${child.pid}`, "^postgres: purser "];
      const { stdout } = await new Deno.Command("pgrep", { args }).output();
      return new TextDecoder().decode(stdout).split("\n").map(Number).filter((pid) => pid > 0);
    },
    async pause() {
      await stop([child.pid]); // so that it starts no other
      const children = await childrenOf(child.pid);
      await stop(children);
      stopped = [...children, child.pid];
    },
    resume: () => signal(stopped, "SIGCONT"),
    async kill() {
      await stop([child.pid]);
      signal([...await childrenOf(child.pid), child.pid], "SIGKILL");
      await child.status;
    },
    async restart() {
      do child = start(port); // it ends while a process of the killed one is there
       while (!await answers(child, port));
    },
    async [Symbol.asyncDispose]() {
      signal(stopped, "SIGCONT");
      await databases[Symbol.asyncDispose]();
      signal([child.pid], "SIGQUIT");
      await child.status;
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** Runs SQL by a connection that isn't Purser's. */
export async function queryPostgres(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
