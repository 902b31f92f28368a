import assert from "node:assert/strict";
import { fixedClock } from "../clock.ts";
import { type Config, loadConfig } from "../config.ts";
import { silentLog } from "../log.ts";
import { connect, type Connection } from "./connect.ts";
import { ownDatabase, type OwnedDatabase } from "./own_database.ts";
import { readOwner, writeOwner } from "./owner_file.ts";

async function inDirectory(test: (path: string, options: Options) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/purser.db`;
  const config = await loadConfig({ env: { HOME: directory }, options: { dbUrl: path } });
  const said: string[] = [];
  try {
    const say = (line: string) => said.push(line);
    await test(path, { config, env: {}, log: silentLog, say, said, doorAfterMs: 0 });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

type Options = {
  config: Config;
  env: Record<string, string>;
  log: typeof silentLog;
  say(line: string): void;
  said: string[];
  doorAfterMs: number;
};

async function namesOf(connection: Connection): Promise<string[]> {
  const agents = await (await connection.api.agents.$get()).json();
  return agents.map((agent) => agent.name);
}

async function define(connection: Connection, name: string): Promise<void> {
  await connection.api.agents[":agent_id"].$put({ param: { agent_id: name }, json: { model: "demo:echo" } });
}

Deno.test("connect() opens a file that nobody owns, and leaves it as it found it", () =>
  inDirectory(async (path, options) => {
    const connection = await connect(options);
    assert.equal(connection.kind, "local");
    await define(connection, "a");
    assert.equal((await readOwner(path))?.pid, Deno.pid);
    assert.equal((await Deno.stat(`${path}.owner.json`)).mode! & 0o777, 0o600);
    await connection.close();
    assert.equal(await readOwner(path), undefined);
  }));

Deno.test("connect() goes through the owner, and becomes the owner when that one ends", () =>
  inDirectory(async (path, options) => {
    const owner: OwnedDatabase = await ownDatabase(options);
    const connection = await connect(options);
    assert.equal(connection.kind, "owner");
    await define(connection, "a");
    const token = (await readOwner(path))!.token;
    await owner.close();
    await define(connection, "b");
    assert.deepEqual(await namesOf(connection), ["a", "b"]);
    assert.notEqual((await readOwner(path))!.token, token, "the new owner has a token of its own");
    await connection.close();
  }));

Deno.test("a command that changes something lets others in at once, one that only reads does not", () =>
  inDirectory(async (path, options) => {
    const connection = await connect({ ...options, doorAfterMs: 60_000 });
    assert.deepEqual(await namesOf(connection), []);
    assert.equal(await readOwner(path), undefined);
    await define(connection, "a");
    while (await readOwner(path) === undefined);
    const other = await connect({ ...options, doorAfterMs: 60_000 });
    assert.equal(other.kind, "owner");
    assert.deepEqual(await namesOf(other), ["a"]);
    await other.close();
    await connection.close();
  }));

Deno.test("connect() takes a file over whose owner was killed and left its note behind", () =>
  inDirectory(async (path, options) => {
    await writeOwner(path, { pid: 1, url: "http://127.0.0.1:1", token: "of a dead process" });
    // It is over before it would open its door, and takes the note away all the same.
    const connection = await connect({ ...options, doorAfterMs: 60_000 });
    assert.equal(connection.kind, "local");
    assert.equal(await readOwner(path), undefined);
    await connection.close();
  }));

Deno.test("connect() sends neither a request nor the token to a stranger on a dead owner's port", () =>
  inDirectory(async (path, options) => {
    const asked: unknown[] = [];
    const stranger = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
      asked.push([new URL(request.url).pathname, request.headers.get("authorization")]);
      return Response.json({ status: "ok" });
    });
    const url = `http://127.0.0.1:${stranger.addr.port}`;
    await writeOwner(path, { pid: 1, url, token: "of a dead process" });
    const connection = await connect(options);
    assert.equal(connection.kind, "local");
    assert.deepEqual(asked, [["/owner-proof", null]]);
    await connection.close();
    await stranger.shutdown();
  }));

Deno.test("connect() finds the owner of a file that is reached by another link", () =>
  inDirectory(async (path, options) => {
    const owner = await ownDatabase({ ...options, config: { ...options.config, dbUrl: path } });
    await Deno.symlink(path, `${path}.link`);
    const connection = await connect({ ...options, config: { ...options.config, dbUrl: `${path}.link` } });
    assert.equal(connection.kind, "owner");
    await connection.close();
    await owner.close();
  }));

Deno.test("connect() names the process that owns a file and neither answers nor ends", () =>
  inDirectory(async (path, options) => {
    const owner = await ownDatabase(options);
    await writeOwner(path, { pid: 4242, url: "http://127.0.0.1:1", token: "x" });
    await assert.rejects(connect({ ...options, clock: fixedClock(0), patienceMs: 0 }), {
      code: "unavailable",
      message: /process 4242 owns it and has not answered/,
    });
    await owner.close();
  }));

Deno.test("an owner answers nobody without its token", () =>
  inDirectory(async (path, options) => {
    const owner = await ownDatabase(options);
    const { url } = (await readOwner(path))!;
    for (const headers of [{}, { authorization: "Bearer wrong" }] as HeadersInit[]) {
      const response = await fetch(`${url}/agents`, { headers });
      assert.equal(response.status, 401);
      assert.equal((await response.json()).code, "unauthorized");
    }
    await owner.close();
  }));

Deno.test("connect() to a server that is not there says so without its key", () =>
  inDirectory(async (_path, options) => {
    const config = { ...options.config, server: "http://127.0.0.1:1", apiKey: "psr_secret" };
    const connection = await connect({ ...options, config });
    assert.equal(connection.kind, "remote");
    await assert.rejects(connection.api.agents.$get(), (error: Error & { code: string }) => {
      assert.equal(error.code, "unavailable");
      assert.match(error.message, /Cannot reach the server at 127\.0\.0\.1:1/);
      assert.ok(!JSON.stringify([error.message, String(error.cause)]).includes("psr_secret"));
      return true;
    });
    await connection.close();
  }));

Deno.test("connect() refuses a key that no request can carry, and does not repeat it", () =>
  inDirectory(async (_path, options) => {
    for (const apiKey of ["psr_se\ncret", "psr_se cret", "psr_sécret"]) {
      const config = { ...options.config, server: "http://127.0.0.1:1", apiKey };
      await assert.rejects(connect({ ...options, config }), {
        code: "unauthorized",
        message: "Cannot use the API key: it holds blanks or characters that no key has",
      });
    }
  }));

Deno.test("connect() sends a key as it is without the blanks and line ends around it", () =>
  inDirectory(async (_path, options) => {
    const heard: (string | null)[] = [];
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ headers }) => {
      heard.push(headers.get("authorization"));
      return Response.json([]);
    });
    const config = {
      ...options.config,
      server: `http://127.0.0.1:${server.addr.port}`,
      apiKey: " psr_secret\n",
    };
    const connection = await connect({ ...options, config });
    await (await connection.api.agents.$get()).json();
    assert.deepEqual(heard, ["Bearer psr_secret"]);
    await server.shutdown();
  }));

Deno.test("what stands in front of a server and asks for credentials is told apart from a server that is away", () =>
  inDirectory(async (_path, options) => {
    const codes = { 401: "unauthorized", 403: "forbidden", 502: "unavailable" };
    for (const [status, code] of Object.entries(codes)) {
      const answer = () => new Response("<html>", { status: Number(status) });
      const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
      const config = { ...options.config, server: `http://127.0.0.1:${server.addr.port}` };
      const connection = await connect({ ...options, config });
      await assert.rejects(connection.api.agents.$get(), { code, message: /not Purser's$/ });
      await server.shutdown();
    }
  }));

Deno.test("connect() gives a problem of the API as the error it tells of", () =>
  inDirectory(async (_path, options) => {
    const connection = await connect(options);
    await assert.rejects(connection.api.agents[":agent_id"].$get({ param: { agent_id: "nobody" } }), {
      name: "ProblemError",
      code: "not_found",
      message: "Cannot find agent nobody",
    });
    await connection.close();
  }));

Deno.test("a page that answers 200 is no Purser, and nothing that was asked of it is done", () =>
  inDirectory(async (_path, options) => {
    for (const type of ["text/html", "application/jsonp", undefined]) {
      const headers: HeadersInit = type === undefined ? {} : { "content-type": type };
      const body = new TextEncoder().encode("<html>");
      const answer = () => new Response(body, { headers });
      const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
      const config = { ...options.config, server: `http://127.0.0.1:${server.addr.port}` };
      const { api } = await connect({ ...options, config });
      const refused = { code: "unavailable", message: /answered 200 with something that is not Purser's$/ };
      await assert.rejects(api.agents.$get(), refused);
      await assert.rejects(api.agents[":agent_id"].$delete({ param: { agent_id: "a" } }), refused);
      await server.shutdown();
    }
  }));

Deno.test("a read of a server that takes connections and never answers is given up", () =>
  inDirectory(async (_path, options) => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const accepting = listener.accept();
    const clock = fixedClock(0);
    const server = `http://127.0.0.1:${listener.addr.port}`;
    const config = { ...options.config, server, remoteTimeoutMs: 10_000 };
    const { api } = await connect({ ...options, config, clock });
    const asked = assert.rejects(api.agents.$get(), {
      code: "unavailable",
      message: /^Cannot use the server at 127\.0\.0\.1:\d+: it has not answered for 30 s$/,
    });
    const held = await accepting;
    clock.advance(30_000);
    await asked;
    held.close();
    listener.close();
  }));
