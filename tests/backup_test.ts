import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { openCallSpool } from "../src/calls/spool/mod.ts";
import { silentLog } from "../src/kernel/log.ts";
import { makeLarge, namesIn, readBooks, succeed, untilDraft } from "./harness/backups.ts";
import { type CliServer, newPlace, type Place, start, startServer } from "./harness/cli_process.ts";
import { modelCall } from "./harness/model_calls.ts";
import { inProcess } from "./harness/in_process.ts";

/** `purser backup` and `purser restore` over files, by the real command. */

async function newPlaceWithCall(): Promise<Place & { db: string }> {
  const place = await newPlace();
  for (const line of [["agents", "set", "echo", "--model", "demo:echo"], ["run", "echo", "Hello"]]) {
    const { code, err } = await inProcess(place, line);
    assert.equal(code, 0, err);
  }
  return { ...place, db: place.env.PURSER_DB! };
}

/** Reports calls to a server without a pause until it is stopped; returns the number of those that were acknowledged. */
function reportCalls({ url }: CliServer): { acknowledged: () => number; stop(): Promise<void> } {
  let acknowledged = 0;
  let isStopped = false;
  const reporting = (async () => {
    for (let n = 0; !isStopped; n++) {
      const response = await fetch(`${url}/costs/events`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify([{
          call_id: `call_${n}`,
          at: new Date().toISOString(),
          agent_id: "elsewhere",
          provider: "local",
          model: "m",
          input_tokens: 1,
          output_tokens: 1,
          cost_usd: 0.001,
        }]),
      });
      assert.equal(response.status, 201, await response.text());
      acknowledged++;
    }
  })();
  return {
    acknowledged: () => acknowledged,
    async stop() {
      isStopped = true;
      await reporting;
    },
  };
}

const namesBeside = ({ folder }: Place) =>
  namesIn(folder).filter((name) => !/-(wal|shm|spool)$|instance/.test(name));

Deno.test("a backup of a file that a server writes to has every call that was acknowledged before it, and no half one", async () => {
  await using place = await newPlaceWithCall();
  makeLarge(place.db, 10_000);
  const backup = `${place.folder}/backup.db`;
  {
    await using server = await startServer(place);
    const reports = reportCalls(server);
    while (reports.acknowledged() < 20) await new Promise((resolve) => setImmediate(resolve));
    const before = reports.acknowledged();
    const done = await succeed(place, ["backup", "--to", backup]);
    const after = reports.acknowledged();
    await reports.stop();
    assert.ok(done.calls >= before + 1 && done.calls <= after + 2, `${before} ${done.calls} ${after}`);
    assert.ok(after > before, "calls were reported meanwhile");
    assert.deepEqual([done.file, done.unpriced_calls], [backup, 0]);
    assert.equal(done.bytes, (await Deno.stat(backup)).size);
    const books = await readBooks(backup);
    assert.deepEqual([books.calls, Number(books.nanoUsd) / 1e9], [done.calls, done.cost_usd]);
  }
  assert.equal((await Deno.stat(backup)).mode! & 0o777, 0o600);
  assert.deepEqual(namesBeside(place), ["backup.db", "books.db"]);
});

Deno.test("a backup is restored to a new database, and to an empty one, which have the same books", async () => {
  await using place = await newPlaceWithCall();
  const [backup, copy, empty] = ["backup.db", "copy.db", "empty.db"].map((name) => `${place.folder}/${name}`);
  const { file, bytes, ...said } = await succeed(place, ["backup", "--to", backup!]);
  assert.deepEqual([file, said.calls, said.cost_usd], [backup, 1, 0.000018]);
  assert.ok(bytes > 100_000);
  const { database, kept_as, ...restored } = await succeed(place, [
    "restore",
    "--from",
    backup!,
    "--db",
    copy!,
  ]);
  assert.deepEqual([database, kept_as, restored], [copy, null, said]);
  // A database that was opened and never used.
  assert.equal((await inProcess(place, ["agents", "remove", "nobody", "--db", empty!])).code, 3);
  assert.equal((await succeed(place, ["restore", "--from", backup!, "--db", empty!])).kept_as, null);
  for (const path of [copy!, empty!]) {
    assert.deepEqual(await readBooks(path), { calls: 1, nanoUsd: 18_000n });
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    assert.equal((await inProcess(place, ["run", "echo", "Again", "--db", path])).code, 0);
  }
  assert.deepEqual(namesBeside(place), ["backup.db", "books.db", "copy.db", "empty.db"]);
});

Deno.test("a person reads what was written, and a folder gets one file for each backup, named by the time", async () => {
  await using place = await newPlaceWithCall();
  const { folder, db } = place;
  await Deno.mkdir(`${folder}/kept`);
  const { code, out, err } = await inProcess(place, ["backup", "--to", `${folder}/kept/`]);
  assert.deepEqual([code, err], [0, ""]);
  const [name] = namesIn(`${folder}/kept`);
  assert.match(name!, /^books-\d{8}T\d{6}Z\.db$/);
  const sums = String.raw`1 call, \$0\.000018, the newest at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`;
  assert.match(out, new RegExp(`^Backed up ${db} to ${folder}/kept/${name}: ${sums}; \\d+ kB, verified\n$`));
  const again = await inProcess(place, ["restore", "--from", `${folder}/kept/${name}`, "--replace"]);
  assert.match(
    again.out,
    new RegExp(
      `^Restored ${db} from ${folder}/kept/${name}: ${sums}; verified\n` +
        `The replaced database is kept as ${db}\\.replaced-\\d{8}T\\d{6}Z\n$`,
    ),
  );
  const kept = namesBeside(place).find((name) => name.includes("replaced"))!;
  for (const path of [db, `${folder}/${kept}`]) assert.equal((await readBooks(path)).calls, 1);
});

Deno.test("calls that wait in the spool are no part of a backup, which says so, and are booked into what is restored", async () => {
  await using place = await newPlaceWithCall();
  const { applied_at: ledger } = readOne(
    place.db,
    "SELECT min(applied_at) AS applied_at FROM purser_migrations",
  );
  const spool = await openCallSpool({
    database: { kind: "file", path: place.db },
    folder: undefined,
    log: silentLog,
    scrub: (text) => text,
    readLedger: () => Promise.resolve(String(ledger)),
  });
  await spool.write({ call: modelCall({ callId: "call_spooled", agentId: "left" }), grant: undefined });
  await spool.close();
  const backup = `${place.folder}/backup.db`;
  const { code, out, err } = await inProcess(place, ["backup", "--to", backup, "--json"]);
  assert.deepEqual([code, JSON.parse(out).calls], [0, 1]);
  assert.equal(
    err,
    `warning: 1 call not in the backup: in ${await Deno.realPath(
      place.db,
    )}-spool, to be booked by the next process\n`,
  );
  await succeed(place, ["restore", "--from", backup, "--replace"]);
  assert.equal((await inProcess(place, ["agents", "set", "other", "--model", "demo:echo"])).code, 0);
  assert.equal((await readBooks(place.db)).calls, 2);
});

function readOne(path: string, sql: string): Record<string, unknown> {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database.prepare(sql).get() as Record<string, unknown>;
  } finally {
    database.close();
  }
}

Deno.test("a database in use is not replaced, and one that is keeps its permissions", async () => {
  await using place = await newPlaceWithCall();
  const backup = `${place.folder}/backup.db`;
  await succeed(place, ["backup", "--to", backup]);
  assert.equal((await inProcess(place, ["run", "echo", "Later"])).code, 0);
  await Deno.chmod(place.db, 0o640);
  {
    await using _server = await startServer(place);
    const { code, err } = await inProcess(place, ["restore", "--from", backup, "--replace"]);
    assert.equal(code, 1);
    assert.equal(
      err,
      `error: Cannot restore database ${place.db}: another process has it open; end every process that uses it first\n`,
    );
    assert.equal((await inProcess(place, ["run", "echo", "Still there"])).code, 0);
  }
  const { kept_as } = await succeed(place, ["restore", "--from", backup, "--replace"]);
  assert.equal((await readBooks(place.db)).calls, 1);
  assert.equal((await readBooks(kept_as!)).calls, 3);
  assert.equal((await Deno.stat(place.db)).mode! & 0o777, 0o640);
});

Deno.test("what can't be backed up or restored is refused in a sentence, and nothing is written", async () => {
  await using place = await newPlaceWithCall();
  const { folder, db } = place;
  const at = (name: string) => `${folder}/${name}`;
  await succeed(place, ["backup", "--to", at("good.db")]);
  const good = await Deno.readFile(at("good.db"));
  await Deno.writeFile(at("truncated.db"), good.subarray(0, good.length / 2));
  const garbled = good.slice().fill(0x55, good.length / 2, good.length / 2 + 40_000);
  await Deno.writeFile(at("garbled.db"), garbled);
  await Deno.writeTextFile(at("text.db"), "no database".repeat(1_000));
  await Deno.writeTextFile(at("empty.db"), "");
  await Deno.writeFile(at("newer.db"), good);
  await Deno.writeFile(at("left.db-wal"), good);
  change(at("newer.db"), "INSERT INTO purser_migrations VALUES (99, 'later', 'x', 1)");
  change(at("foreign.db"), "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')");
  await Deno.mkdir(at("folder"));
  const before = await contentsOf(folder);
  const cases: [args: string[], code: number, message: RegExp][] = [
    [["backup"], 2, /--to is missing; give a file or a folder/],
    [["backup", "--to", ""], 2, /--to is empty/],
    [
      ["backup", "--to", at("good.db")],
      1,
      /Cannot write \S+good\.db: it exists; name another file, or a folder/,
    ],
    [["backup", "--to", at("left.db")], 1, /left\.db-wal is left of another database.*; move it away/],
    [["backup", "--to", at("none/")], 1, /no such directory; create it first/],
    [["backup", "--to", at("none/x.db")], 1, /Cannot back up to \S+x\.db: no such file or directory/],
    [
      ["backup", "--to", at("x.db"), "--db", at("typo.db")],
      3,
      /Cannot back up database \S+typo\.db: no such file/,
    ],
    [["backup", "--to", at("x.db"), "--db", folder], 3, /is a directory/],
    [["backup", "--to", at("x.db"), "--db", ":memory:"], 2, /a database in memory/],
    [
      ["backup", "--to", at("x.db"), "--db", at("text.db")],
      1,
      /text\.db: the file is damaged or is not a database/,
    ],
    [
      ["backup", "--to", at("x.db"), "--db", at("empty.db")],
      3,
      /it is empty; it has never been used by Purser/,
    ],
    [["backup", "--to", at("x.db"), "--db", at("garbled.db")], 1, /damaged/],
    [
      ["backup", "--to", at("x.db"), "--db", at("newer.db")],
      1,
      /its schema is version 99 .*; upgrade Purser/,
    ],
    [["backup", "--to", at("x.db"), "--db", at("foreign.db")], 1, /it is not Purser's, it has a table notes/],
    [
      ["backup", "--to", at("x.db"), "--server", "http://127.0.0.1:1"],
      2,
      /of a server from here: run purser backup on/,
    ],
    [["restore"], 2, /--from is missing; give the file of a backup/],
    [["restore", "--from", at("none.db"), "--db", at("new.db")], 1, /none\.db: no such file or directory/],
    [["restore", "--from", at("folder"), "--db", at("new.db")], 1, /is a directory; name a file in it/],
    [
      ["restore", "--from", at("text.db"), "--db", at("new.db")],
      1,
      /text\.db: the file is damaged or is not/,
    ],
    [["restore", "--from", at("empty.db"), "--db", at("new.db")], 3, /it is empty; it has never been used/],
    [["restore", "--from", at("truncated.db"), "--db", at("new.db")], 1, /truncated\.db.* damaged/],
    [["restore", "--from", at("garbled.db"), "--db", at("new.db")], 1, /garbled\.db.* damaged/],
    [
      ["restore", "--from", at("newer.db"), "--db", at("new.db")],
      1,
      /newer\.db: its schema is version 99 .*; upgrade/,
    ],
    [
      ["restore", "--from", at("foreign.db"), "--db", at("new.db")],
      1,
      /it is not Purser's, it has a table notes/,
    ],
    [
      ["restore", "--from", at("good.db")],
      1,
      /it has content; name another database, or replace it by --replace/,
    ],
    [["restore", "--from", at("good.db"), "--db", at("good.db"), "--replace"], 1, /it is the backup itself/],
    [["restore", "--from", at("good.db"), "--db", at("folder")], 1, /it isn't a file; name a file/],
    [
      ["restore", "--from", at("good.db"), "--db", at("text.db"), "--replace"],
      1,
      /is not a database; move it away/,
    ],
    [
      ["restore", "--from", at("good.db"), "--db", at("foreign.db"), "--replace"],
      1,
      /database of another program/,
    ],
    [
      ["restore", "--from", at("good.db"), "--db", at("left.db"), "--replace"],
      1,
      /left\.db-wal is left of another/,
    ],
    [["restore", "--from", at("good.db"), "--db", at("none/x.db")], 1, /no such file or directory/],
  ];
  for (const [args, code, message] of cases) {
    const outcome = await inProcess(place, args);
    assert.deepEqual([outcome.code, outcome.out], [code, ""], `${args.join(" ")}: ${outcome.err}`);
    assert.match(outcome.err, message);
    assert.ok(outcome.err.trim().split("\n").length <= 2, outcome.err);
  }
  assert.deepEqual(await contentsOf(folder), before);
  assert.equal((await readBooks(db)).calls, 1);
});

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

/** The size of each file of a folder, without those of the database's log, which each process makes and removes. */
async function contentsOf(folder: string): Promise<[string, number][]> {
  const names = namesIn(folder).filter((name) => !/^(books|foreign)\.db-/.test(name));
  return await Promise.all(
    names.map(async (name) => [name, (await Deno.stat(`${folder}/${name}`)).size] as [string, number]),
  );
}

Deno.test("a backup or a restore that is killed leaves its file away, and the database as it was", async () => {
  await using place = await newPlaceWithCall();
  makeLarge(place.db, 30_000);
  const [backup, target] = [`${place.folder}/backup.db`, `${place.folder}/target.db`];
  await Deno.copyFile(place.db, target);
  const before = await readBooks(place.db);
  const kill = async (args: string[], signal: Deno.Signal) => {
    const child = start(place, args);
    await untilDraft(place.folder, child);
    child.kill(signal);
    const { code } = await child.output();
    for (const name of namesIn(place.folder)) {
      if (!name.endsWith(".part")) continue;
      assert.equal(signal, "SIGKILL", `${name} is removed`);
      await Deno.remove(`${place.folder}/${name}`, { recursive: true });
    }
    return code;
  };
  for (const signal of ["SIGKILL", "SIGINT"] as const) {
    const code = await kill(["backup", "--to", backup], signal);
    assert.equal(code, signal === "SIGINT" ? 130 : 137);
    assert.deepEqual(namesBeside(place), ["books.db", "target.db"]);
  }
  await succeed(place, ["backup", "--to", backup]);
  change(target, "DELETE FROM alert_rules");
  for (const signal of ["SIGKILL", "SIGINT"] as const) {
    await kill(["restore", "--from", backup, "--db", target, "--replace"], signal);
    await kill(["restore", "--from", backup, "--db", `${place.folder}/new.db`], signal);
    assert.deepEqual(namesBeside(place), ["backup.db", "books.db", "target.db"]);
    assert.deepEqual(await readBooks(target), before);
  }
  await succeed(place, ["restore", "--from", backup, "--db", target, "--replace"]);
  assert.deepEqual(await readBooks(target), before);
});
