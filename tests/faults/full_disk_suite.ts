import assert from "node:assert/strict";
import { writeClaudeLogs } from "../../bench/claude_logs.ts";
import { readRecords } from "../../src/calls/spool/spool_file.ts";
import { answerTo } from "../harness/answers.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { reasonAgainstMounting } from "../harness/small_disk.ts";
import { isThorough } from "../harness/thorough.ts";
import {
  exportSession,
  importDocument,
  lookAt,
  newPlace,
  purser,
  purserCommand,
  readCopy,
} from "./full_disk_place.ts";
import { startWorker, until } from "./spool_scene.ts";
import { COST_NANO_USD, LIMIT_USD, USAGE } from "./spool_worker.ts";

/** The real CLI on a full disk: a tmpfs of a few KB or MB. */

const isSpool = (name: string) => name.endsWith(".spool");

const KIB = 1024;
const MIB = 1024 * KIB;

// This is a permission, not a package: a machine without it can't be fixed, so the suite is always skipped there.
const diskMissing = await reasonAgainstMounting();
const skip = diskMissing !== undefined;
const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name: skip ? `${name} (skipped: ${diskMissing})` : name, ignore: skip, fn });

/** Declares a test whose faults others of this file have in other commands. */
const inThoroughRuns: typeof test = (name, fn) => isThorough ? test(name, fn) : undefined;

test("an export to a full disk is an error, leaves no file behind, and keeps an existing one", async () => {
  await using place = await newPlace(256 * KIB);
  const { disk } = place;
  const db = `${place.folder}/books.db`;
  await importDocument(place, db, { number: 1, bytes: 2 * MIB });
  const exportTo = (file: string, ...more: string[]) =>
    purser(place, db, ["state", "export", "agent", "--output", `${disk.folder}/${file}`, ...more]);
  const failed = (file: string) => ({
    code: 1,
    out: "",
    err: `error: Cannot write ${disk.folder}/${file}: no space left on device\n`,
  });

  assert.deepEqual(await exportTo("new.json"), failed("new.json"));
  assert.deepEqual(disk.names(), []);

  await Deno.writeTextFile(`${disk.inside}/old.json`, "precious");
  assert.deepEqual(await exportTo("old.json", "--with-events"), failed("old.json"));
  assert.deepEqual(disk.names(), ["old.json"]);
  assert.equal(await Deno.readTextFile(`${disk.inside}/old.json`), "precious");

  disk.fill("rest");
  for (const file of ["new.json.gz", "old.json"]) {
    assert.deepEqual(await exportTo(file), failed(file));
    assert.deepEqual(disk.names(), ["old.json", "rest"]);
  }
  assert.equal(await Deno.readTextFile(`${disk.inside}/old.json`), "precious");
  await Deno.remove(`${disk.inside}/rest`);
  await importDocument(place, db, { number: 2, bytes: 10 * KIB });
  assert.equal((await exportTo("old.json")).code, 0);
  assert.equal(JSON.parse(await Deno.readTextFile(`${disk.inside}/old.json`)).mark, 2);
});

inThoroughRuns("a backup or a restore to a full disk is an error, and leaves no file behind", async () => {
  await using place = await newPlace(256 * KIB);
  const { disk } = place;
  const [db, backup] = [`${place.folder}/books.db`, `${place.folder}/backup.db`];
  await importDocument(place, db, { number: 1, bytes: 2 * MIB });
  assert.equal((await purser(place, db, ["backup", "--to", backup])).code, 0);
  const full = { code: 1, out: "" };
  for (
    const [from, database, args] of [
      [db, db, ["backup", "--to", `${disk.folder}/copy.db`]],
      [backup, `${disk.folder}/new.db`, ["restore", "--from", backup]],
    ] as const
  ) {
    const { err, ...outcome } = await purser(place, database, [...args]);
    assert.deepEqual(outcome, full, err);
    assert.ok(err.startsWith(`error: Cannot copy database ${from} to ${disk.folder}/`), err);
    assert.match(err, /: the disk is full\n$/);
    assert.deepEqual(disk.names(), []);
  }
});

/** Reported before the disk is completely full, so that staged rows can be rolled back. */
const NO_ROOM =
  /^error: Cannot restore the session: the disk of the database has only \d+ MB left; free some space and try again\n$/;

for (const mib of isThorough ? [6, 14, 30] : [14]) {
  test(`an import too large for a disk of ${mib} MiB leaves the session as it was, and room for other writes`, async () => {
    await using place = await newPlace(mib * MIB);
    const { disk } = place;
    const db = `${disk.folder}/books.db`;
    await importDocument(place, db, { number: 1, bytes: 10 * KIB });
    const before = await exportSession(place, db);

    const failed = await importDocument(place, db, { number: 2, bytes: mib * MIB, isTaken: false });
    assert.deepEqual({ code: failed.code, out: failed.out }, { code: 1, out: "" });
    assert.match(failed.err, NO_ROOM);
    assert.deepEqual(await lookAt(place, disk.inside), { mark: 1, loose: 0, strays: 0, integrity: "ok" });
    assert.equal((await purser(place, db, ["agents", "set", "other", "--model", "demo:echo"])).code, 0);

    // A few MB are freed, less than the import would have needed.
    await disk.resize((mib + 8) * MIB);
    assert.equal(await exportSession(place, db), before);
    assert.deepEqual(await lookAt(place, disk.inside), { mark: 1, loose: 0, strays: 0, integrity: "ok" });
    await importDocument(place, db, { number: 3, bytes: 50 * KIB });
    assert.deepEqual(await lookAt(place, disk.inside), { mark: 3, loose: 0, strays: 0, integrity: "ok" });
    assert.deepEqual(disk.names(), ["books.db"]);
  });
}

test("a database whose server was killed can be read on a full disk", async () => {
  await using place = await newPlace(14 * MIB);
  const { disk } = place;
  const db = `${disk.folder}/books.db`;
  await importDocument(place, db, { number: 1, bytes: 10 * KIB });
  const before = await exportSession(place, db);
  const server = purserCommand(place, db, ["serve", "--port", "0"]).spawn();
  await server.stderr.getReader().read();
  server.kill("SIGKILL"); // nsenter has replaced itself by the program
  await Promise.all([server.status, server.stdout.cancel()]);
  disk.fill("rest");
  for (let start = 0; start < 2; start++) assert.equal(await exportSession(place, db), before);
  assert.match(
    (await importDocument(place, db, { number: 2, bytes: 10 * KIB, isTaken: false })).err,
    /^error: Cannot (write to database .*: the disk is full|restore the session: .* free some space and try again)\n$/,
  );
  const others = disk.names().filter((name) => !/^(books\.db(-wal|-shm)?|rest)$/.test(name));
  assert.deepEqual(others, [], "nothing is left beside the database");
});

test("a server continues to answer and write after an import that would have filled its disk", async () => {
  await using place = await newPlace(14 * MIB);
  const { disk } = place;
  const db = `${disk.folder}/books.db`;
  const server = purserCommand(place, db, ["serve", "--port", "0"]).spawn();
  const reader = server.stderr.getReader();
  const firstLine = new TextDecoder().decode((await reader.read()).value);
  reader.releaseLock();
  try {
    assert.match(firstLine, /^Purser answers at /);
    await importDocument(place, db, { number: 1, bytes: 10 * KIB });
    const before = await exportSession(place, db);
    const { code, out, err } = await importDocument(place, db, {
      number: 2,
      bytes: 14 * MIB,
      isTaken: false,
    });
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, NO_ROOM);
    assert.equal(await exportSession(place, db), before);
    await disk.resize(22 * MIB);
    await importDocument(place, db, { number: 3, bytes: 50 * KIB });
  } finally {
    server.kill("SIGTERM");
    await Promise.all([server.status, server.stdout.cancel(), server.stderr.cancel()]);
  }
  assert.equal((await server.status).code, 0);
  assert.deepEqual(await lookAt(place, disk.inside), { mark: 3, loose: 0, strays: 0, integrity: "ok" });
  assert.deepEqual(disk.names(), ["books.db"]);
});

test("a server on a full disk reports it by /readyz and the doctor for as long as writes fail", async () => {
  await using place = await newPlace(14 * MIB);
  const { disk } = place;
  const db = `${disk.folder}/books.db`;
  const server = purserCommand(place, db, ["serve", "--port", "0"]).spawn();
  const reader = server.stderr.getReader();
  const url = /answers at (http:\S+)/.exec(new TextDecoder().decode((await reader.read()).value))![1]!;
  reader.releaseLock();
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(url + path, init);
    return { status: response.status, body: await response.json() };
  };
  const readiness = async () => (await ask("/readyz")).status;
  const define = async () => {
    const headers = { "content-type": "application/json" };
    return (await ask("/agents/a", { method: "PUT", headers, body: '{"model": "demo:echo"}' })).status;
  };
  try {
    assert.equal(await readiness(), 200);
    disk.fill("rest");
    // The rest of the WAL file still takes writes; each write uses some of it.
    for (let writes = 0; writes < 2_000 && await define() !== 503; writes++);
    assert.equal(await readiness(), 503);
    const { body } = await ask("/doctor");
    const database = body.find(({ name }: { name: string }) => name === "database");
    assert.deepEqual([database.status, /the disk is full/.test(database.detail)], ["failed", true]);
    await Deno.remove(`${disk.inside}/rest`);
    assert.equal(await readiness(), 200);
    assert.ok(await define() < 300);
  } finally {
    server.kill("SIGTERM");
    await Promise.all([server.status, server.stdout.cancel(), server.stderr.cancel()]);
  }
});

inThoroughRuns(
  "a database whose log has filled a disk of 12 MB continues once space is freed, and its log is cut off",
  async () => {
    await using place = await newPlace(12 * MIB);
    const { disk } = place;
    const serve = ["serve", "--port", "0", "--log-level", "error"];
    const server = purserCommand(place, `${disk.folder}/books.db`, serve).spawn();
    const reader = server.stderr.getReader();
    const url = /answers at (http:\S+)/.exec(new TextDecoder().decode((await reader.read()).value))![1]!;
    reader.releaseLock();
    const headers = { "content-type": "application/json" };
    let defined = 0;
    const define = async () => {
      const body = JSON.stringify({
        model: "demo:echo",
        system_prompt: `${++defined} ${"x".repeat(20_000)}`,
      });
      const response = await fetch(`${url}/agents/a`, { method: "PUT", headers, body });
      await response.body?.cancel();
      return response.status;
    };
    const log = async () => (await Deno.stat(`${disk.inside}/books.db-wal`)).size;
    try {
      disk.fill("other", 3 * MIB);
      for (let writes = 0; writes < 2_000 && await define() !== 503; writes++);
      assert.equal(await define(), 503);
      assert.ok(await log() > 8 * MIB, "the log has taken the disk");
      await Deno.remove(`${disk.inside}/other`);
      for (let writes = 0; writes < 10; writes++) assert.ok(await define() < 300);
      assert.ok(await log() < 2 * MIB, `${await log()} bytes of log`);
    } finally {
      server.kill("SIGTERM");
      await Promise.all([server.status, server.stdout.cancel(), server.stderr.cancel()]);
    }
  },
);

inThoroughRuns("an import without room for its temporary file is an error, and writes nothing", async () => {
  await using place = await newPlace(256 * KIB);
  const { disk } = place;
  const db = `${place.folder}/books.db`;
  await importDocument(place, db, { number: 1, bytes: 10 * KIB });
  const env = { TMPDIR: disk.folder };
  const failed = {
    code: 1,
    out: "",
    err: "error: Cannot read the snapshot: the directory for temporary files is on a full disk\n",
  };
  const before = await lookAt(place, place.folder);
  const large = { number: 2, bytes: 10 * MIB, isTaken: false, env };
  assert.deepEqual(await importDocument(place, db, large), failed);
  assert.deepEqual(disk.names(), []);
  assert.deepEqual(await importDocument(place, db, { ...large, options: ["--dry-run"] }), failed);
  assert.deepEqual(disk.names(), []);
  assert.deepEqual(await lookAt(place, place.folder), before);
  await importDocument(place, db, { number: 3, bytes: 10 * KIB, env });
});

test("calls that a full disk keeps from the ledger wait on it, in space that was taken before", async () => {
  await using place = await newPlace(14 * MIB);
  const { disk } = place;
  const db = `${disk.folder}/books.db`;
  const answering = Promise.withResolvers<void>();
  await using provider = await startFakeProvider(async (request) => {
    await answering.promise;
    return answerTo(request, { text: "Hello", usage: USAGE });
  });
  const budget = [
    "budgets",
    "add",
    "--name",
    "Day",
    "--per",
    "day",
    "--limit",
    `${LIMIT_USD}`,
    "--mode",
    "strict",
  ];
  assert.equal((await purser(place, db, budget)).code, 0);
  await using worker = await startWorker([db, provider.baseUrls.openai], disk.enter);
  const calls = 4;
  await worker.order({ way: "gateway", calls });
  await until(() => provider.calls === calls);
  const spool = `${disk.inside}/books.db-spool`;
  const findSpool = () => [...Deno.readDirSync(spool)].map(({ name }) => name).find(isSpool);
  // Its space is taken beside the first calls; its header is written last.
  const readSpool = async () => await Deno.readFile(`${spool}/${findSpool()}`);
  await until(() => readSpool().then(([first]) => Boolean(first), () => false));
  disk.fill("rest");
  answering.resolve();
  for (let call = 0; call < calls; call++) {
    const { text, error } = await worker.next();
    assert.ok(text?.includes("Hello"), `${error}`);
  }
  const name = findSpool();
  assert.equal(readRecords(await Deno.readFile(`${spool}/${name}`)).records.length, calls);
  await Deno.remove(`${disk.inside}/rest`);
  await until(async () => readRecords(await Deno.readFile(`${spool}/${name}`)).records.length === 0);
  await worker.end();
  const booked = await readCopy(
    place,
    disk.inside,
    "SELECT count(DISTINCT call_id), count(*), sum(cost_nano_usd) FROM calls",
  );
  assert.deepEqual(booked.rows, [[4n, 4n, 4n * COST_NANO_USD]]);
  assert.deepEqual(disk.names(), ["books.db"]);
});

test("an import of logs that fills the disk says so, and goes on once there is room: each call is booked once", async () => {
  await using place = await newPlace(3 * MIB);
  const { disk } = place;
  const db = `${disk.folder}/books.db`;
  const HOME = `${place.folder}/home`;
  const { calls } = await writeClaudeLogs(HOME, 3_000, Date.now());
  const run = (...args: string[]) => purser(place, db, args, { HOME });
  const full = await run("import");
  // The sweep at the start of a process may meet the full disk, too.
  const said = full.err.split("\n").filter((line) => !line.includes("The retention sweep failed"));
  assert.deepEqual([full.code, said], [1, [
    "What was booked stays; repeat the import to book the rest",
    `error: Cannot write to database ${db}: the disk is full`,
    "",
  ]]);
  await disk.resize(64 * MIB);
  const repeated = await run("import", "--json");
  assert.equal(repeated.code, 0, repeated.err);
  const { booked } = JSON.parse(repeated.out).agents[0];
  assert.ok(booked > 0 && booked < calls, `${booked} of ${calls} were left`);
  const total = await run("cost", "--total", "--since", "all", "--json");
  assert.equal(JSON.parse(total.out).model_calls, calls);
});
