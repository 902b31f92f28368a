import assert from "node:assert/strict";
import { fixedClock } from "../kernel/clock.ts";
import { type Config, loadConfig } from "../config/mod.ts";
import { silentLog } from "../kernel/log.ts";
import { openDroppingServer } from "../../tests/harness/dropping_server.ts";
import { connect, type Connection } from "./connect.ts";

async function inDirectory(test: (path: string, options: Options) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/purser.db`;
  const config = await loadConfig({ env: { HOME: directory }, options: { dbUrl: path } });
  try {
    await test(path, { config, env: {}, log: silentLog });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

type Options = {
  config: Config;
  env: Record<string, string>;
  log: typeof silentLog;
};

async function namesOf(connection: Connection): Promise<string[]> {
  const agents = await (await connection.api.agents.$get({ query: {} })).json();
  return agents.map((agent) => agent.name);
}

async function define(connection: Connection, name: string): Promise<void> {
  await connection.api.agents[":agent_id"].$put({ param: { agent_id: name }, json: { model: "demo:echo" } });
}

Deno.test("connect() opens the database in this process, beside other processes that have it open", () =>
  inDirectory(async (_path, options) => {
    const [first, second] = [await connect(options), await connect(options)];
    assert.deepEqual([first.kind, second.kind], ["local", "local"]);
    await define(first, "a");
    await define(second, "b");
    assert.deepEqual(await namesOf(first), ["a", "b"]);
    await first.close();
    assert.deepEqual(await namesOf(second), ["a", "b"]);
    await second.close();
  }));

Deno.test("connect() creates a missing file, unless it only reads or the file must exist", () =>
  inDirectory(async (path, options) => {
    for (const mode of [{ isReadOnly: true }, { mustExist: true }]) {
      await assert.rejects(connect({ ...options, ...mode }), {
        code: "not_found",
        message: `Cannot open database ${path}, named by --db: there is no such file; correct the path, ` +
          "or create it with a command that writes, such as purser agents set",
      });
    }
    await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
    await (await connect(options)).close();
    assert.ok((await Deno.stat(path)).isFile);
    await (await connect({ ...options, isReadOnly: true })).close();
  }));

Deno.test("connect() reads a missing default database as an empty one, and creates nothing", () =>
  inDirectory(async (path, options) => {
    const folder = path.replace(/\/[^/]+$/, "");
    const config = await loadConfig({ env: { HOME: folder }, platform: "linux" });
    const connection = await connect({ ...options, config, isReadOnly: true });
    assert.deepEqual(await namesOf(connection), []);
    assert.equal(connection.where, `${folder}/.local/share/purser/purser.db`);
    await connection.close();
    assert.deepEqual(await Array.fromAsync(Deno.readDir(folder)), []);
    await (await connect({ ...options, config, mustExist: true })).close();
    assert.ok((await Deno.stat(connection.where)).isFile);
  }));

Deno.test("connect() to a server that is not there says so without its key", () =>
  inDirectory(async (_path, options) => {
    const config = { ...options.config, server: "http://127.0.0.1:1", apiKey: "psr_secret" };
    const connection = await connect({ ...options, config });
    assert.equal(connection.kind, "remote");
    await assert.rejects(connection.api.agents.$get({ query: {} }), (error: Error & { code: string }) => {
      assert.equal(error.code, "unavailable");
      assert.match(error.message, /Cannot reach the server at 127\.0\.0\.1:1/);
      assert.ok(!JSON.stringify([error.message, String(error.cause)]).includes("psr_secret"));
      return true;
    });
    await connection.close();
  }));

Deno.test("connect() sends what changes something once, also where a reused connection ends without an answer", () =>
  inDirectory(async (_path, options) => {
    await using server = await openDroppingServer();
    const config = { ...options.config, server: server.url };
    const { api, close } = await connect({ ...options, config });
    for (const name of ["a", "b", "c"]) {
      await api.agents[":agent_id"].$put({ param: { agent_id: name }, json: { model: "demo:echo" } });
      await api.agents[":agent_id"].$delete({ param: { agent_id: name } });
    }
    assert.deepEqual(server.arrived, ["PUT", "DELETE", "PUT", "DELETE", "PUT", "DELETE"]);
    await close();
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
    await (await connection.api.agents.$get({ query: {} })).json();
    assert.deepEqual(heard, ["Bearer psr_secret"]);
    await server.shutdown();
  }));

Deno.test("a proxy's demand for credentials is reported differently from an unreachable server", () =>
  inDirectory(async (_path, options) => {
    const codes = { 401: "unauthorized", 403: "forbidden", 502: "unavailable" };
    for (const [status, code] of Object.entries(codes)) {
      const answer = () => new Response("<html>", { status: Number(status) });
      const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
      const config = { ...options.config, server: `http://127.0.0.1:${server.addr.port}` };
      const connection = await connect({ ...options, config });
      await assert.rejects(connection.api.agents.$get({ query: {} }), { code, message: /not Purser's$/ });
      await server.shutdown();
    }
  }));

Deno.test("connect() rejects with a problem of the API as an error", () =>
  inDirectory(async (_path, options) => {
    const connection = await connect(options);
    await assert.rejects(connection.api.agents[":agent_id"].$get({ param: { agent_id: "missing" } }), {
      name: "ProblemError",
      code: "not_found",
      message: "Cannot find agent missing",
    });
    await connection.close();
  }));

Deno.test("a page that answers 200 is an error: nothing that was requested is done", () =>
  inDirectory(async (_path, options) => {
    for (const type of ["text/html", "application/jsonp", undefined]) {
      const headers: HeadersInit = type === undefined ? {} : { "content-type": type };
      const body = new TextEncoder().encode("<html>");
      const answer = () => new Response(body, { headers });
      const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
      const config = { ...options.config, server: `http://127.0.0.1:${server.addr.port}` };
      const { api } = await connect({ ...options, config });
      const refused = { code: "unavailable", message: /answered 200 with something that is not Purser's$/ };
      await assert.rejects(api.agents.$get({ query: {} }), refused);
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
    const asked = assert.rejects(api.agents.$get({ query: {} }), {
      code: "unavailable",
      message: /^Cannot use the server at 127\.0\.0\.1:\d+: it has not answered for 30 s$/,
    });
    const held = await accepting;
    clock.advance(30_000);
    await asked;
    held.close();
    listener.close();
  }));
