import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../src/kernel/clock.ts";
import { createIds } from "../src/kernel/ids.ts";
import { makeLarge, namesIn, readBooks, succeed } from "./harness/backups.ts";
import { newPlace, type Place, start } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";
import { type PostgresDatabases, sharedPostgres, skipPostgres } from "./harness/postgres.ts";
import { skipSqld, type Sqld, startSqld } from "./harness/sqld.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { isThorough } from "./harness/thorough.ts";

/** `purser backup` and `purser restore` over a libSQL server and PostgreSQL, by the real command. */

/** An empty database on a server. */
interface Server extends AsyncDisposable {
  url: string;
}

let postgres: Promise<PostgresDatabases> | undefined;
Deno.test.afterAll(async () => await (await postgres)?.[Symbol.asyncDispose]());

const KINDS = [
  { name: "sqld", ignore: skipSqld, create: (): Promise<Server> => startSqld({ durability: "strong" }) },
  {
    name: "PostgreSQL",
    ignore: skipPostgres,
    async create(): Promise<Server> {
      const name = `b${crypto.randomUUID().slice(0, 8)}`;
      return await (await (postgres ??= sharedPostgres())).createDatabase(name);
    },
  },
];

/** Declares a test for each kind of server. */
function testKinds(
  name: string,
  fn: (server: Server, place: Place, create: () => Promise<Server>) => Promise<void>,
): void {
  for (
    const { name: kind, ignore, create } of KINDS.filter(({ name }) => isThorough || name === "PostgreSQL")
  ) {
    Deno.test({
      name: `${kind}: ${name}`,
      ignore,
      async fn() {
        await using place = await newPlace();
        await using server = await create();
        place.env.PURSER_DB = server.url;
        await fn(server, place, create);
      },
    });
  }
}

const test = (name: string, fn: (sqld: Sqld, place: Place) => Promise<void>) =>
  Deno.test({
    name,
    ignore: skipSqld,
    async fn() {
      await using place = await newPlace();
      await using sqld = await startSqld({ durability: "strong" });
      place.env.PURSER_DB = sqld.url;
      await fn(sqld, place);
    },
  });

/** A Purser in this process over the server; several have ids of their own. */
const open = ({ url }: Server) => openTestPurser({ config: { dbUrl: url }, ids: createIds(systemClock) });

/** PostgreSQL has no zero character in texts. */
const asKept = (text: string, { url }: Server) =>
  url.startsWith("postgres") ? text.replaceAll("\0", "\ufffd") : text;

/** Texts that a dump has to quote. */
const TEXTS = ["It's; done\nINSERT INTO calls", "Grüße 🛳️ \\n\n\r", "zero \u0000 and ';\nATTACH 'x'"];

/** A server with runs of those texts. */
async function openWithRuns(server: Server) {
  const opened = await open(server);
  for (const input of TEXTS) await opened.run({ systemPrompt: input }, input, { sessionId: "s1" });
  return opened;
}

testKinds(
  "a server is backed up while it is written to, into a file that any Purser opens",
  async (server, place) => {
    await using opened = await openWithRuns(server);
    await opened.core.store.write([{ sql: "UPDATE runs SET output = ?", args: [TEXTS.join("")] }]);
    const backup = `${place.folder}/backup.db`;
    let isDone = false;
    let made = TEXTS.length;
    const writing = (async () => {
      for (; !isDone; made++) await opened.run({}, "meanwhile", { sessionId: `m${made}` });
    })();
    const before = made;
    const done = await succeed(place, ["backup", "--to", backup]);
    const after = made;
    isDone = true;
    await writing;
    assert.ok(done.calls >= before && done.calls <= after + 1, `${before} ${done.calls} ${after}`);
    assert.ok(after > before, "runs were made meanwhile");
    assert.equal((await Deno.stat(backup)).mode! & 0o777, 0o600);
    assert.deepEqual(namesIn(place.folder).filter((name) => name.endsWith(".part")), []);
    assert.equal((await readBooks(backup)).calls, done.calls);
    const exported = (dbUrl: string) =>
      purser({ ...place, env: { ...place.env, PURSER_DB: dbUrl } }, [
        ...["state", "export", "tester", "--session", "s1", "--output", "-", "--with-events"],
      ]);
    const messagesOf = ({ out }: { out: string }) => {
      const { state, events } = JSON.parse(out);
      return { state, events };
    };
    assert.deepEqual(messagesOf(await exported(backup)), messagesOf(await exported(server.url)));
    const file = new DatabaseSync(backup, { readOnly: true });
    const [{ output }] = file.prepare("SELECT hex(output) AS output FROM runs WHERE session_id = 's1'")
      .all() as [
        { output: string },
      ];
    file.close();
    assert.equal(output, Buffer.from(asKept(TEXTS.join(""), server)).toString("hex").toUpperCase());
  },
);

testKinds(
  "a backup is restored to an empty server, a used one is replaced only with --replace",
  async (server, place, create) => {
    const [backup, file] = [`${place.folder}/backup.db`, `${place.folder}/file.db`];
    {
      await using opened = await openWithRuns(server);
      await opened.core.store.write([{ sql: "UPDATE runs SET output = ?", args: [TEXTS.join("")] }]);
    }
    const said = await succeed(place, ["backup", "--to", backup]);
    await using other = await create();
    const there = { ...place, env: { ...place.env, PURSER_DB: other.url } };
    const restored = await succeed(there, ["restore", "--from", backup]);
    const { host, pathname } = new URL(other.url);
    assert.equal(restored.database, host + pathname.replace(/\/$/, ""));
    for (const key of ["calls", "cost_usd", "newest_call_at", "schema_version"] as const) {
      assert.equal(restored[key], said[key]);
    }
    assert.equal((await readBooks(other.url)).calls, TEXTS.length);
    {
      await using copy = await open(other);
      const { rows } = await copy.core.store.read({ sql: "SELECT output FROM runs" });
      assert.equal(rows[0]![0], asKept(TEXTS.join(""), other));
      assert.equal((await copy.messages("s1")).length, 2 * TEXTS.length);
      assert.equal((await copy.run({}, "And on", { sessionId: "s1" })).status, "completed");
      await assert.rejects(copy.core.store.write([{ sql: "DELETE FROM events" }]), /append-only/);
      await assert.rejects(copy.core.store.write([{ sql: "DELETE FROM calls" }]), /append-only/);
    }
    const { code, out, err } = await purser(there, ["restore", "--from", backup]);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(
      err,
      /^error: Cannot restore the .* at \S+: it has content; .* replace it by --replace\n$/,
    );
    assert.equal((await readBooks(other.url)).calls, TEXTS.length + 1);
    assert.equal((await succeed(there, ["restore", "--from", backup, "--replace"])).kept_as, null);
    assert.equal((await readBooks(other.url)).calls, TEXTS.length);
    // From a server to a file, and from a file to a server, the books are the same.
    await succeed(place, ["restore", "--from", backup, "--db", file]);
    assert.deepEqual(await readBooks(file), await readBooks(other.url));
  },
);

test(
  "a restore to a server that is killed leaves a database that every process refuses, until a restore ends",
  async (sqld, place) => {
    const file = { ...place, env: { ...place.env, PURSER_DB: `${place.folder}/books.db` } };
    assert.equal((await purser(file, ["agents", "set", "echo", "--model", "demo:echo"])).code, 0);
    assert.equal((await purser(file, ["run", "echo", "Hello"])).code, 0);
    makeLarge(file.env.PURSER_DB, 10_000);
    const backup = `${place.folder}/backup.db`;
    await succeed(file, ["backup", "--to", backup]);
    const count = async (sql: string) => {
      const response = await fetch(`${sqld.url}/v2/pipeline`, {
        method: "POST",
        body: JSON.stringify({ requests: [{ type: "execute", stmt: { sql } }, { type: "close" }] }),
      });
      const { results: [result] } = await response.json();
      return result.type === "ok" ? Number(result.response.result.rows[0][0].value) : 0;
    };
    const child = start(place, ["restore", "--from", backup]);
    while (await count("SELECT count(*) FROM imported_events") === 0);
    child.kill("SIGKILL");
    assert.equal((await child.output()).code, 137);
    assert.equal(
      await count("SELECT count(*) FROM sqlite_schema WHERE name = 'purser_restore_unfinished'"),
      1,
    );
    for (const command of ["cost", "backup"]) {
      const { code, out, err } = await purser(
        place,
        command === "cost" ? ["cost"] : ["backup", "--to", place.folder],
      );
      assert.deepEqual([code, out], [1, ""]);
      assert.match(
        err,
        /: its restore from a backup has not ended; wait for it, or run purser restore again\n$/,
      );
    }
    await succeed(place, ["restore", "--from", backup]);
    assert.equal((await readBooks(sqld.url)).calls, 1);
    assert.equal(await count("SELECT count(*) FROM imported_events"), 10_000);
  },
);

test(
  "a backup with a value that the server doesn't take is refused before anything is written",
  async (sqld, place) => {
    const file = { ...place, env: { ...place.env, PURSER_DB: `${place.folder}/books.db` } };
    assert.equal((await purser(file, ["agents", "set", "echo", "--model", "demo:echo"])).code, 0);
    const database = new DatabaseSync(file.env.PURSER_DB);
    database.exec("UPDATE agents SET system_prompt = hex(zeroblob(3000000))");
    database.close();
    {
      await using _opened = await openWithRuns(sqld);
    }
    const backup = `${place.folder}/backup.db`;
    await succeed(file, ["backup", "--to", backup]);
    const { code, err } = await purser(place, ["restore", "--from", backup, "--replace"]);
    assert.equal(code, 1);
    assert.match(err, /a row of agents in backup \S+ is larger than the 5 MB that the server takes\n$/);
    assert.equal((await readBooks(sqld.url)).calls, TEXTS.length);
  },
);

/** A proxy that changes the dump of a server. */
function proxyTo(sqld: Sqld, change: (dump: string) => string) {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const answer = await fetch(sqld.url + pathname + search, {
      method: request.method,
      headers: { "content-type": "application/json" },
      ...(request.method === "POST" && { body: await request.text() }),
    });
    const text = await answer.text();
    return new Response(pathname === "/dump" ? change(text) : text, { status: answer.status });
  });
}

test(
  "a dump that is cut off, lacks calls, or would reach other files is refused, and leaves no file",
  async (sqld, place) => {
    await using _opened = await openWithRuns(sqld);
    const cases: [change: (dump: string) => string, message: RegExp][] = [
      [(dump) => dump.slice(0, dump.length / 2), /dump of it is not complete; try again/],
      [(dump) => dump.replace(/COMMIT;\n$/, "ROLLBACK; -- due to errors\n"), /dump of it is not complete/],
      [
        (dump) => dump.replace(/^INSERT INTO calls VALUES\(3,.*\n/m, ""),
        /the copy lacks calls that were there/,
      ],
      [
        (dump) => dump.replace(/^INSERT INTO calls VALUES\(2,.*\n/m, ""),
        /the copy is not the same as the ledger/,
      ],
      [
        (dump) => dump.replace("COMMIT;\n", "ATTACH '/tmp/x' AS x;\nCOMMIT;\n"),
        /the server's dump has ATTACH in it/,
      ],
      [() => "<html>", /dump of it is not complete/],
    ];
    for (const [change, message] of cases) {
      await using proxy = proxyTo(sqld, change);
      const { code, out, err } = await purser(place, [
        ...["backup", "--to", `${place.folder}/backup.db`, "--db", `http://127.0.0.1:${proxy.addr.port}`],
      ]);
      assert.deepEqual([code, out], [1, ""], err);
      assert.match(err, message);
      assert.deepEqual(namesIn(place.folder).filter((name) => /backup/.test(name)), []);
    }
  },
);

test("a dump that stops is given up after remote_timeout_ms, and leaves no file", async (sqld, place) => {
  await using _opened = await openWithRuns(sqld);
  const dump = await (await fetch(`${sqld.url}/dump`)).text();
  await using proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname !== "/dump") {
      return await fetch(sqld.url + pathname, { method: request.method, body: await request.text() });
    }
    return new Response(
      new ReadableStream({
        start: (stream) => stream.enqueue(new TextEncoder().encode(dump.slice(0, 10_000))),
      }),
    );
  });
  place.env.PURSER_CONFIG_JSON = '{"remote_timeout_ms": 1000}';
  const { code, out, err } = await purser(place, [
    ...["backup", "--to", `${place.folder}/backup.db`, "--db", `http://127.0.0.1:${proxy.addr.port}`],
  ]);
  assert.deepEqual([code, out], [1, ""], err);
  assert.match(
    err,
    /^error: Cannot back up the database at \S+: its dump broke off \(it did not answer in time\); try again\n$/,
  );
  assert.deepEqual(namesIn(place.folder).filter((name) => /backup/.test(name)), []);
});

testKinds("an empty database, a foreign one and an unreachable server are refused", async (server, place) => {
  const to = ["backup", "--to", `${place.folder}/backup.db`];
  assert.match((await purser(place, to)).err, /it is empty; it has never been used by Purser/);
  const opened = await open(server);
  await opened.core.store.write([{ sql: "DROP TABLE purser_migrations" }]);
  await opened.core.close();
  assert.match((await purser(place, to)).err, /it is not Purser's, it has a table/);
  const nowhere = server.url.replace(/(\d+\.\d+\.\d+\.\d+|[\w.]*localhost):\d+/, "127.0.0.1:1");
  const { code, err } = await purser(place, [...to, "--db", nowhere]);
  assert.equal(code, 1);
  assert.match(err, /^error: Cannot read the database at 127\.0\.0\.1:1: /);
  assert.deepEqual(namesIn(place.folder).filter((name) => /backup/.test(name)), []);
});
