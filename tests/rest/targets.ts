import { CLI_PERMISSIONS } from "../../build/permissions.ts";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import { findEdgeBundle } from "../harness/edge_bundle.ts";
import { makeFirstKey } from "../harness/first_key.ts";
import { skipPostgres, startPostgres } from "../harness/postgres.ts";
import { skipSqld, startSqld } from "../harness/sqld.ts";
import { skipWorkerd, startWorkerd } from "../harness/workerd.ts";
import { TextLineStream } from "../harness/text_lines.ts";
import type { RestServer } from "./rest_case.ts";

/** A platform on which the API runs. */
export interface RestTarget {
  name: string;
  /** True for an edge: then the cases that need a capability in `EDGE_LIMITS` are skipped. */
  isEdge: boolean;
  /** True if the other targets have both of its parts: then only a thorough run tries all cases, and others one of each resource. */
  isCombination?: boolean;
  ignore: boolean;
  start(environment: Record<string, string>): Promise<RunningServer>;
}

/** A server that runs for a test, with its log. */
export interface RunningServer extends RestServer, AsyncDisposable {
  log(): string;
}

const ROOT = new URL("../..", import.meta.url).pathname;

/** The configuration of a real deployment; the test runs with its date and flags. */
export async function readWranglerConfig(): Promise<{
  compatibility_date: string;
  compatibility_flags: string[];
  triggers: { crons: string[] };
  no_bundle: boolean;
  main: string;
  vars: Record<string, unknown>;
}> {
  return parse(await Deno.readTextFile(join(ROOT, "examples/edge_workers/wrangler.jsonc")));
}

/** A process of Deno that can be ended gracefully. */
interface DenoServer extends RunningServer {
  key: string;
  /** Ends it with SIGTERM, and returns its exit code. */
  stop(): Promise<number>;
}

/** `deno serve` of an entry, over a database. */
async function startDeno(env: Record<string, string>, entry = join(ROOT, "main.ts")): Promise<DenoServer> {
  const directory = await Deno.makeTempDir({ prefix: "purser-rest-" });
  const database = env.PURSER_DB ?? join(directory, "purser.db");
  const key = await makeFirstKey(database);
  const child = new Deno.Command(Deno.execPath(), {
    args: entry.endsWith("cli.ts")
      ? ["run", "--quiet", ...CLI_PERMISSIONS, entry, "serve", "--port", "0"]
      : ["serve", ...CLI_PERMISSIONS, "--host", "127.0.0.1", "--port", "0", "--unstable-cron", entry],
    env: { ...env, PURSER_DB: database, XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory, NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let log = "";
  const listening = Promise.withResolvers<string>();
  const reading = (async () => {
    const lines = child.stderr.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of lines) {
      log += `${line}\n`;
      const port = /(?:Listening on|answers at) http:\S+?:(\d+)/.exec(line)?.[1];
      if (port) listening.resolve(`http://127.0.0.1:${port}`);
    }
    listening.reject(new Error(`Cannot start deno serve: it ended\n${log}`));
  })();
  const stop = async () => {
    try {
      child.kill("SIGTERM");
    } catch {
      // it has already ended
    }
    const { code } = await child.status;
    await reading;
    return code;
  };
  const end = async () => {
    await stop();
    await Deno.remove(directory, { recursive: true });
  };
  try {
    const url = await listening.promise;
    return { url, key, log: () => log, stop, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** The same over a real libSQL server. */
export async function startDenoOverSqld(env: Record<string, string>, entry?: string): Promise<DenoServer> {
  const sqld = await startSqld({ durability: "strong" });
  return beside(sqld, await startDeno({ ...env, PURSER_DB: sqld.url }, entry));
}

/** `purser serve` over a real PostgreSQL, which an edge can't have. */
async function startServeOverPostgres(env: Record<string, string>): Promise<DenoServer> {
  const postgres = await startPostgres(["fsync=on"]); // else the doctor warns
  return beside(
    postgres,
    await startDeno({ ...env, PURSER_DB: postgres.urlOf("postgres") }, `${ROOT}cli.ts`),
  );
}

/** Returns a server that ends together with its database. */
function beside(database: AsyncDisposable, server: DenoServer): DenoServer {
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** A worker, and the database beside it. */
interface WorkerdServer extends RunningServer {
  key: string;
  sqldUrl: string;
  runScheduled(): Promise<string>;
}

/** The bundle on workerd, as the example deploys it, over a real libSQL server. */
export async function startWorkerdOverSqld(env: Record<string, string>): Promise<WorkerdServer> {
  const { compatibility_date, compatibility_flags } = await readWranglerConfig();
  const { path: modulePath } = await findEdgeBundle();
  const sqld = await startSqld({ durability: "strong" });
  const key = await makeFirstKey(sqld.url);
  const server = await startWorkerd({
    modulePath,
    compatibilityDate: compatibility_date,
    compatibilityFlags: compatibility_flags,
    env: { ...env, PURSER_DB: sqld.url },
  });
  return {
    url: server.url,
    key,
    sqldUrl: sqld.url,
    log: server.log,
    runScheduled: server.runScheduled,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await sqld[Symbol.asyncDispose]();
    },
  };
}

/** All targets of the suite. */
export const restTargets: readonly RestTarget[] = [
  { name: "Deno over a file", isEdge: false, ignore: false, start: (env) => startDeno(env) },
  {
    name: "Deno over sqld",
    isEdge: true,
    isCombination: true,
    ignore: skipSqld,
    start: (env) => startDenoOverSqld(env),
  },
  {
    name: "purser serve over PostgreSQL",
    isEdge: false,
    isCombination: true,
    ignore: skipPostgres,
    start: startServeOverPostgres,
  },
  {
    name: "workerd over sqld",
    isEdge: true,
    isCombination: true,
    ignore: skipSqld || skipWorkerd,
    start: startWorkerdOverSqld,
  },
];
