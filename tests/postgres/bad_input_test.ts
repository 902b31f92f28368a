import assert from "node:assert/strict";
import { newPlace, type Place } from "../harness/cli_process.ts";
import { inProcess as purser } from "../harness/in_process.ts";
import {
  ASKED_FOR_PASSWORD,
  type Postgres,
  queryPostgres,
  skipPostgres,
  startPostgres,
} from "../harness/postgres.ts";

/** Databases in PostgreSQL that the real command refuses: in a sentence, and without a change. */

let server: Postgres;
let count = 0;

if (!skipPostgres) {
  Deno.test.beforeAll(async () => {
    server = await startPostgres();
    await queryPostgres(
      server.urlOf("postgres"),
      `CREATE ROLE ${ASKED_FOR_PASSWORD};
CREATE ROLE guest LOGIN; CREATE ROLE careful LOGIN PASSWORD 'right-password' IN ROLE ${ASKED_FOR_PASSWORD}`,
    );
  });
  Deno.test.afterAll(async () => await server?.[Symbol.asyncDispose]()); // undefined where it could not start
}

/** Declares a test with a database, which is empty. */
function test(name: string, fn: (url: string, place: Place) => Promise<void>): void {
  Deno.test({
    name,
    ignore: skipPostgres,
    async fn() {
      await using place = await newPlace();
      place.env.PURSER_CONFIG_JSON = '{"remote_timeout_ms": 1500}';
      await using database = await server.createDatabase(`b${++count}`);
      await fn(database.url, place);
    },
  });
}

/** Every table of a database with its rows, but those of the system. */
async function contentsOf(url: string): Promise<string[]> {
  const tables = await queryPostgres(
    url,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );
  const schemas = await queryPostgres(url, "SELECT nspname FROM pg_namespace ORDER BY 1");
  const contents = schemas.map((row) => JSON.stringify(row));
  for (const { name } of tables) {
    contents.push(`${name} ${JSON.stringify(await queryPostgres(url, `SELECT * FROM ${name} ORDER BY 1`))}`);
  }
  return contents;
}

const COMMANDS = [["cost"], ["agents", "set", "echo", "--model", "demo:echo"]];

/** Runs commands that read and that write: each is refused in one line, which doesn't contain a secret. */
async function refused(place: Place, db: string, message: RegExp): Promise<void> {
  for (const args of COMMANDS) {
    const { code, out, err } = await purser({ ...place, env: { ...place.env, PURSER_DB: db } }, args);
    assert.deepEqual([code, out], [1, ""], err);
    assert.match(err, /^error: Cannot [^\n]*\n$/);
    assert.match(err, message);
    assert.doesNotMatch(err, /wrong-password|right-password/);
  }
}

const as = (user: string, url: string) => url.replace("purser@", `${user}@`);
const HOST = String.raw`127\.0\.0\.1:\d+`;

test(
  "a role without rights on the schema is refused, and one that owns a schema needs none on the database",
  async (url, place) => {
    await queryPostgres(
      url,
      `REVOKE ALL ON SCHEMA public FROM PUBLIC; CREATE SCHEMA readable; GRANT USAGE ON SCHEMA readable TO guest;
CREATE SCHEMA production AUTHORIZATION guest`,
    );
    const before = await contentsOf(url);
    const remedy = "grant the user the right, or name another schema by \\?schema=";
    const guest = as("guest", url);
    await refused(
      place,
      guest,
      new RegExp(`Cannot write the database at ${HOST}: permission denied to use the schema; ${remedy}`),
    );
    await refused(
      place,
      `${guest}?schema=readable`,
      new RegExp(`${HOST}: permission denied for schema readable; ${remedy}`),
    );
    await refused(
      place,
      `${guest}?schema=missing`,
      new RegExp(`${HOST}: permission denied for database b\\d+; ${remedy}`),
    );
    assert.deepEqual(await contentsOf(url), before);
    const own = { ...place, env: { ...place.env, PURSER_DB: `${guest}?schema=production` } };
    for (const args of COMMANDS) assert.deepEqual((await purser(own, args)).err, "");
    // The name is no secret, which would be redacted wherever it is written.
    const { out } = await purser(own, ["agents", "set", "production", "--model", "demo:echo"]);
    assert.match(out, /Created agent production/);
  },
);

test("a schema of a newer Purser, and one of another program, are refused", async (url, place) => {
  const own = { ...place, env: { ...place.env, PURSER_DB: `${url}?schema=newer` } };
  for (const args of COMMANDS) assert.deepEqual((await purser(own, args)).err, "");
  await queryPostgres(
    url,
    `INSERT INTO newer.purser_migrations VALUES (99, 'later', 'x', 1);
CREATE SCHEMA other; CREATE TABLE other.notes (text TEXT);
CREATE SCHEMA twins; CREATE TABLE twins.calls (position INTEGER); CREATE TABLE twins.agents (name TEXT);`,
  );
  const before = await contentsOf(url);
  await refused(
    place,
    `${url}?schema=newer`,
    /its schema is version 99 and this program knows up to \d+; upgrade Purser/,
  );
  await refused(
    place,
    `${url}?schema=other`,
    /it is not Purser's, it has a table notes; choose another database/,
  );
  await refused(
    place,
    `${url}?schema=twins`,
    /it is not Purser's, it has a table (calls|agents); choose another database/,
  );
  assert.deepEqual(await contentsOf(url), before);
});

test(
  "a wrong password, a missing one and one in the URL are refused, and never shown",
  async (url, place) => {
    const careful = as("careful", url);
    const message = new RegExp(
      `Cannot read the database at ${HOST}: it refused the user or the password; check the URL and PURSER_DB_TOKEN`,
    );
    await refused(place, careful, message);
    const wrong = { ...place, env: { ...place.env, PURSER_DB_TOKEN: "wrong-password" } };
    await refused(wrong, careful, message);
    await refused(wrong, `${careful}x`, message);
    for (const inUrl of [careful.replace("@", ":right-password@"), `${careful}?password=right-password`]) {
      await refused(
        place,
        inUrl,
        /the URL contains a secret; remove it and set PURSER_DB_TOKEN to the password/,
      );
    }
    const served = await purser({ ...wrong, env: { ...wrong.env, PURSER_DB: careful } }, [
      "serve",
      "--port",
      "0",
    ]);
    assert.equal(served.code, 1);
    assert.match(served.err, message);
    assert.doesNotMatch(served.out + served.err, /wrong-password/);
    assert.equal((await contentsOf(url)).some((line) => line.startsWith("public.")), false);
  },
);

/** A server that says that it is of another version. */
function serverOfVersion(version: string) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const change = (data: Uint8Array) => {
    const text = new TextDecoder("latin1").decode(data);
    const at = text.search(/15\d{4}/);
    if (at >= 0) new TextEncoder().encodeInto(version, data.subarray(at));
    return data;
  };
  const running = (async () => {
    for await (const client of listener) {
      const upstream = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
      void client.readable.pipeTo(upstream.writable).catch(() => {});
      void upstream.readable.pipeThrough(
        new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
          transform: (data, controller) => controller.enqueue(change(data) as Uint8Array<ArrayBuffer>),
        }),
      ).pipeTo(client.writable).catch(() => {});
    }
  })();
  return {
    port: (listener.addr as Deno.NetAddr).port,
    async [Symbol.asyncDispose]() {
      listener.close();
      await running.catch(() => {});
    },
  };
}

test("a server of version 12 is refused by its version", async (url, place) => {
  await using old = serverOfVersion("120022");
  const through = url.replace(/:\d+\//, `:${old.port}/`);
  await refused(
    place,
    through,
    new RegExp(
      `Cannot use the database at 127\\.0\\.0\\.1:${old.port}: it is PostgreSQL 12; version 15 or newer is needed`,
    ),
  );
  assert.equal((await contentsOf(url)).some((line) => line.startsWith("public.")), false);
});

test(
  "a read replica is refused by name; of several hosts the primary is used, whatever the others are",
  async (url, place) => {
    await using replica = await startPostgres([], server);
    const atReplica = url.replace(/:\d+\//, `:${replica.port}/`);
    await refused(
      place,
      atReplica,
      new RegExp(
        `Cannot read the database at 127\\.0\\.0\\.1:${replica.port}: it is a read replica, .*; give the address of the primary`,
      ),
    );
    const hosts = (...ports: number[]) =>
      `${url}?host=${ports.map(() => "127.0.0.1").join(",")}&port=${ports.join(",")}`;
    await refused(
      place,
      hosts(1, replica.port),
      /at 127\.0\.0\.1:1, 127\.0\.0\.1:\d+: connect ECONNREFUSED 127\.0\.0\.1:1/,
    );
    assert.equal((await contentsOf(url)).some((line) => line.startsWith("public.")), false);
    for (const args of COMMANDS) {
      const env = {
        ...place.env,
        PURSER_DB: hosts(1, replica.port, server.port),
        PURSER_CONFIG_JSON: '{"remote_timeout_ms": 30000}',
      };
      assert.equal((await purser({ ...place, env }, args)).err, "");
    }
    assert.equal((await contentsOf(url)).some((line) => line.startsWith("public.agents")), true);
  },
);
