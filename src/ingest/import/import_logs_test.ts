import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { Sighting } from "../../calls/mod.ts";
import { MAX_IMPORT_FILES } from "../../contract/limits.ts";
import { fixedClock, MINUTE_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { files } from "../../kernel/files/files.ts";
import { defineImporter, type LogImporter, type Machine } from "../logs/mod.ts";
import { findLogs } from "./find_logs.ts";
import { type ImportContext, importLogs, type ImportOptions, type KnownFile } from "./import_logs.ts";
import { createProjectNames } from "./project_names.ts";

const NOW = "2026-11-27T12:00:00.000Z";
const sync = await files.loadFilesSync();

/** The rows of databases that were read. */
let rowsRead = 0;

/** Reads lines such as `{"call":"c1","output":5}`; a call is said once the next one begins, or at the end. */
const toy: LogImporter = defineImporter({
  name: "toy",
  title: "Toy",
  seen: "1.0",
  holes: [],
  roots: ({ home }: Machine) => [`${home}/.toy`],
  kinds: [
    {
      has: (name) => name.endsWith(".jsonl"),
      read: {
        form: "lines",
        markers: ['"call"'],
        open(_, state) {
          let held = state as { call: string; output: number; at?: string } | null | undefined;
          const said = (quality: Sighting["quality"]): Sighting => ({
            ref: held!.call,
            responseId: held!.call,
            at: Date.parse(held!.at ?? "2026-11-27T10:00:00.000Z"),
            usage: usage(held!.output),
            quality,
            folder: "/home/ada/shop",
            session: "s1",
          });
          return {
            line(text, sink) {
              const record = JSON.parse(text);
              if (record.call === "none") return sink.unmetered("a call has no usage");
              if (held && held.call !== record.call) sink.call(said("exact"));
              held = record;
            },
            end: (sink) => void (held && sink.call(said("provisional"))),
            state: () => held ?? null,
          };
        },
      },
    },
    {
      has: (name) => name.endsWith(".json"),
      read: {
        form: "whole",
        read(text, _, sink) {
          for (const ref of JSON.parse(text)) {
            if (ref === "none") sink.unmetered("a call has no usage");
            else sink.call({ ref, at: Date.parse(NOW), usage: usage(1), quality: "exact" });
          }
        },
      },
    },
    {
      has: (name) => name.endsWith(".db"),
      read: {
        form: "sqlite",
        *read(db, _, __, sink) {
          for (const { ref } of db.rows("SELECT ref FROM message")) {
            sink.call({ ref: String(ref), at: Date.parse(NOW), usage: usage(1), quality: "exact" });
            rowsRead++;
            yield;
          }
          return null;
        },
      },
    },
  ],
});

const usage = (outputTokens: number) => ({
  inputTokens: 10,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  reasoningTokens: 0,
});

/** A home folder, and a ledger that keeps the largest output of each call. */
async function withHome(
  use: (world: {
    home: string;
    write(name: string, text: string | Uint8Array): Promise<void>;
    append(name: string, text: string): Promise<void>;
    run(options?: Partial<ImportOptions> & { path?: string }): ReturnType<typeof importLogs>;
    calls: Map<string, number>;
    states: Map<string, KnownFile>;
    clock: ReturnType<typeof fixedClock>;
    fail: { book?: number; save?: number };
    last: Sighting[];
  }) => Promise<void>,
) {
  const home = await Deno.makeTempDir();
  await Deno.mkdir(`${home}/.toy`);
  const clock = fixedClock(NOW);
  const calls = new Map<string, number>();
  const fail: { book?: number; save?: number } = {};
  const last: Sighting[] = [];
  /** The states in the database: the import's own map is of one process. */
  const stored = new Map<string, KnownFile>();
  const full = () => new PurserError("unavailable", "Cannot write: the disk is full");
  const ctx: ImportContext = {
    files: sync,
    clock,
    projectOf: createProjectNames(sync, home),
    books: {
      recordPlan: () => Promise.resolve(),
      book(sightings) {
        if (fail.book !== undefined && fail.book-- <= 0) return Promise.reject(full());
        let [booked, known, amended] = [0, 0, 0];
        for (const sighting of sightings) {
          last.push(sighting);
          const { ref, usage: { outputTokens } } = sighting;
          const before = calls.get(ref);
          if (before === undefined) booked++;
          else known++;
          if (before !== undefined && outputTokens > before) amended++;
          calls.set(ref, Math.max(before ?? 0, outputTokens));
        }
        const amounts = { costNanoUsd: 0n, planNanoUsd: 0n };
        return Promise.resolve({
          booked,
          known,
          amended,
          conflicts: 0,
          unpriced: 0,
          ...amounts,
          refused: [],
        });
      },
      save(states) {
        assert.ok(states.length <= MAX_IMPORT_FILES, "as many as a server takes");
        if (fail.save !== undefined && fail.save-- <= 0) return Promise.reject(full());
        for (const state of states) stored.set(state.path, JSON.parse(JSON.stringify(state)));
        return Promise.resolve();
      },
    },
  };
  const machine: Machine = { os: "linux", home, env: () => undefined };
  const path = (name: string) => `${home}/.toy/${name}`;
  let changes = 0;
  const touch = async (name: string) => {
    const at = new Date(clock.now() - 10 * MINUTE_MS + changes++ * 1_000);
    await Deno.utime(path(name), at, at);
  };
  try {
    await use({
      home,
      calls,
      states: stored,
      clock,
      fail,
      last,
      async write(name, text) {
        if (typeof text === "string") await Deno.writeTextFile(path(name), text);
        else await Deno.writeFile(path(name), text);
        await touch(name);
      },
      async append(name, text) {
        await Deno.writeTextFile(path(name), text, { append: true });
        await touch(name);
      },
      run: ({ path, ...options } = {}) =>
        importLogs(ctx, findLogs(sync, toy, { machine, path }), { states: new Map(stored), ...options }),
    });
  } finally {
    await Deno.chmod(`${home}/.toy`, 0o700);
    await Deno.remove(home, { recursive: true });
  }
}

const line = (call: string, output: number, more: object = {}) =>
  JSON.stringify({ call, output, ...more }) + "\n";

Deno.test("an import goes on where the last one has stopped, and reads no file that hasn't changed", async () => {
  await withHome(async ({ write, append, run, calls, last }) => {
    await write("a.jsonl", line("c1", 5) + '{"other":1}\n' + line("c2", 7) + '{"call":"c3","out');
    const first = await run();
    assert.deepEqual([first.files, first.changedFiles, first.booked, first.malformed], [1, 1, 2, 0]);
    assert.deepEqual(last[0]!.tags, { project: "shop" });
    const second = await run();
    assert.deepEqual([second.changedFiles, second.booked, second.known], [0, 0, 0]);
    await append("a.jsonl", 'put":9}\n' + line("c3", 90));
    const third = await run();
    assert.deepEqual([third.changedFiles, third.booked, third.known], [1, 1, 1], "c2 is said again, final");
    assert.deepEqual([...calls], [["c1", 5], ["c2", 7], ["c3", 90]]);
  });
});

Deno.test("a file that was replaced or has shrunk is read whole again, and one that vanished changes nothing", async () => {
  await withHome(async ({ home, write, run, calls }) => {
    await write("a.jsonl", line("c1", 5) + line("c2", 7));
    await run();
    await write("a.jsonl", line("c9", 1) + line("c2", 8) + line("c3", 3));
    assert.deepEqual((await run()).booked, 2);
    await write("a.jsonl", line("c9", 1));
    const shrunk = await run();
    assert.deepEqual([shrunk.changedFiles, shrunk.booked, shrunk.known], [1, 0, 1]);
    await Deno.remove(`${home}/.toy/a.jsonl`);
    const gone = await run();
    assert.deepEqual([gone.files, gone.booked, gone.unreadable], [0, 0, []]);
    assert.deepEqual([...calls], [["c1", 5], ["c2", 8], ["c9", 1], ["c3", 3]]);
  });
});

Deno.test("an import that is cut off anywhere books each call once when it is repeated", async () => {
  for (const fail of [{ book: 0 }, { book: 1 }, { book: 2 }, { save: 0 }, { save: 1 }]) {
    // Each file is a set; after ten, the states are stored.
    const files = fail.save === 1 ? 12 : 3;
    await withHome(async (world) => {
      for (let file = 0; file < files; file++) {
        const lines = Array.from({ length: 900 }, (_, n) => line(`c${file}-${n}`, n + 1));
        await world.write(`${file}.jsonl`, lines.join(""));
      }
      Object.assign(world.fail, fail);
      await assert.rejects(world.run(), /the disk is full/);
      delete world.fail.book;
      delete world.fail.save;
      await world.run();
      assert.equal(world.calls.size, files * 900, JSON.stringify(fail));
      assert.equal((await world.run()).changedFiles, 0);
    });
  }
});

Deno.test("broken lines, lines above the limit and calls without usage are counted with their file, and the rest is booked", async () => {
  await withHome(async ({ home, write, run, calls }) => {
    const long = `{"call":"big","text":"${"x".repeat(9 * 1024 * 1024)}"}\n`;
    await write("a.jsonl", line("c1", 1) + '{"call": broken\n' + long + '{"call":"none"}\n' + line("c2", 2));
    await write("b.json", "no JSON");
    await write("c.json", '["w1","w2"]');
    await write("d.jsonl", new Uint8Array([0, 255, 254, 10, 13, 10, 0]));
    const tally = await run();
    assert.deepEqual([tally.booked, tally.malformed, tally.unmetered], [4, 3, 1]);
    assert.deepEqual(tally.faults.map(({ path, reason }) => [path.slice(home.length), reason]), [
      ["/.toy/a.jsonl", "a record is not JSON"],
      ["/.toy/a.jsonl", "a line has more than 8 MiB"],
      ["/.toy/a.jsonl", "a call has no usage"],
      ["/.toy/b.json", "a record is not JSON"],
    ]);
    assert.deepEqual([...calls.keys()], ["c1", "c2", "w1", "w2"]);
  });
});

Deno.test("the faults of a document are counted once, however often it is written anew", async () => {
  await withHome(async ({ write, run }) => {
    const count = async (document: string) => {
      await write("a.json", document);
      const { booked, unmetered, malformed } = await run();
      return [booked, unmetered, malformed];
    };
    assert.deepEqual(await count('["w1","none"]'), [1, 1, 0]);
    assert.deepEqual(await count('["w1","none","w2"]'), [1, 0, 0]);
    assert.deepEqual(await count('["w1","none","none"]'), [0, 1, 0]);
    assert.deepEqual(await count('["w1",'), [0, 0, 1]);
    assert.deepEqual(await count('["w1", '), [0, 0, 0]);
  });
});

Deno.test("the calls of a database are booked while the rest of it is read", async () => {
  await withHome(async ({ home, run, fail, calls }) => {
    const database = new DatabaseSync(`${home}/.toy/a.db`);
    database.exec("CREATE TABLE message (ref TEXT)");
    database.exec(`INSERT INTO message
      SELECT 'c' || value FROM json_each('${JSON.stringify(Array.from({ length: 5_000 }, (_, n) => n))}')`);
    database.close();
    fail.book = 1;
    await assert.rejects(run(), /the disk is full/);
    assert.deepEqual([rowsRead, calls.size], [2_550, 850]);
    delete fail.book;
    assert.deepEqual((await run()).booked, 4_150);
  });
});

Deno.test("calls ahead of the clock or before --since are left out and counted, and imported once they may be", async () => {
  await withHome(async ({ write, run, calls, clock }) => {
    await write(
      "a.jsonl",
      line("old", 1, { at: "2026-11-01T00:00:00Z" }) + line("new", 2) +
        line("ahead", 3, { at: "2026-11-27T12:06:00Z" }) +
        line("last", 4),
    );
    const first = await run({ since: Date.parse("2026-11-20T00:00:00Z") });
    assert.deepEqual([first.booked, first.before, first.ahead], [2, 1, 1]);
    const all = await run();
    assert.deepEqual([all.booked, all.known, all.before, all.ahead], [1, 2, 0, 1]);
    clock.advance(MINUTE_MS);
    const later = await run();
    assert.deepEqual([later.booked, later.known, later.ahead], [1, 3, 0]);
    assert.equal((await run()).changedFiles, 0);
    assert.equal(calls.size, 4);
  });
});

Deno.test("a call that may go on is held while its file is written, also by another process later", async () => {
  await withHome(async ({ write, append, run, calls, clock, states }) => {
    const idleMs = 60_000;
    const live = async (name: string) => {
      const at = new Date(clock.now());
      await Deno.utime(`${[...states.keys()][0] ?? ""}` || name, at, at);
    };
    await write("a.jsonl", line("c1", 5) + line("c2", 1));
    await run();
    await append("a.jsonl", line("c3", 1));
    await live("");
    assert.deepEqual((await run({ idleMs })).booked, 0, "c3 may go on");
    assert.deepEqual([...calls.keys()], ["c1", "c2"]);
    clock.advance(59_000);
    assert.equal((await run({ idleMs })).changedFiles, 0);
    clock.advance(1_000);
    assert.deepEqual((await run({ idleMs })).booked, 1);
    await append("a.jsonl", line("c4", 1));
    await live("");
    await run({ idleMs });
    assert.equal(calls.has("c4"), false);
    assert.equal((await run()).booked, 1, "an import without --watch books it at once");
  });
});

Deno.test("links that lead back, folders without permission and links to nothing are passed over", async () => {
  await withHome(async ({ home, write, run }) => {
    await write("a.jsonl", line("c1", 5));
    await Deno.mkdir(`${home}/.toy/sub`);
    await Deno.symlink(`${home}/.toy`, `${home}/.toy/sub/loop`);
    await Deno.symlink("self", `${home}/.toy/self`);
    await Deno.symlink(`${home}/nothing`, `${home}/.toy/gone.jsonl`);
    await Deno.mkdir(`${home}/elsewhere`);
    await Deno.writeTextFile(`${home}/elsewhere/b.jsonl`, line("c2", 6));
    await Deno.symlink(`${home}/elsewhere`, `${home}/.toy/linked`);
    const tally = await run();
    assert.deepEqual([tally.files, tally.booked], [2, 2]);
    assert.deepEqual(tally.unreadable.map(({ path, reason }) => [path.slice(home.length), reason]), [
      ["/.toy/self", "too many levels of symbolic links"],
    ]);
  });
});

Deno.test("a file keeps how many of its records were left out, and why it can't be read until it can be, or is gone", async () => {
  await withHome(async ({ home, append, run, states }) => {
    const broken = '{"call": broken\n';
    await append("a.jsonl", broken + '{"call":"none"}\n');
    await append("a.jsonl", broken);
    await Deno.symlink("self", `${home}/.toy/self`);
    const kept = () =>
      [...states.values()].map(({ path, unmetered, malformed, fault }) => [
        path.slice(home.length + 6),
        unmetered,
        malformed,
        fault,
      ]);
    const unreadable = ["self", 0, 0, "too many levels of symbolic links"];
    await run();
    assert.deepEqual(kept(), [["a.jsonl", 1, 2, null], unreadable]);
    await append("a.jsonl", broken);
    await run();
    await run({ path: `${home}/.toy/a.jsonl` });
    assert.deepEqual(
      kept(),
      [["a.jsonl", 1, 3, null], unreadable],
      "an import of a.jsonl alone says nothing of it",
    );
    await Deno.remove(`${home}/.toy/self`);
    await run();
    assert.deepEqual(kept(), [["a.jsonl", 1, 3, null], ["self", 0, 0, null]]);
  });
});

Deno.test("any number of files that can't be read is kept", async () => {
  await withHome(async ({ home, run, states }) => {
    const links = Array.from({ length: MAX_IMPORT_FILES + 1 }, (_, index) => `${index}.jsonl`);
    for (const link of links) await Deno.symlink(link, `${home}/.toy/${link}`);
    await run();
    assert.equal([...states.values()].filter(({ fault }) => fault !== null).length, links.length);
  });
});
