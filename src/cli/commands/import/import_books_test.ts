import assert from "node:assert/strict";
import type { Sighting } from "../../../calls/mod.ts";
import { createApiClient } from "../../../client/mod.ts";
import { openCore } from "../../../service/mod.ts";
import { createApp } from "../../../http/mod.ts";
import { fixedClock } from "../../../kernel/clock.ts";
import { usageOf } from "../../../pricing/mod.ts";
import { migratedMemory } from "../../../../tests/harness/migrated_memory.ts";
import { createImportBooks, readFileStates } from "./import_books.ts";

const NOW = "2026-11-27T12:00:00.000Z";

async function openBooks() {
  const core = await openCore({
    config: { dbUrl: ":memory:" },
    clock: fixedClock(NOW),
    sqlite: await migratedMemory(),
  });
  const app = await createApp(core);
  const send = async (request: Request) => await app.fetch(request);
  const api = createApiClient({ baseUrl: "http://purser.invalid", send });
  const connection = { api, send, kind: "local" as const, where: "memory", close: core.close };
  const origin = { machine: "laptop", importer: "claude-code" };
  return {
    connection,
    core,
    origin,
    store: core.store,
    books: createImportBooks(connection, origin),
    /** Books without JSON in between. */
    direct: createImportBooks({ ...connection, core }, origin),
    [Symbol.asyncDispose]: core.close,
  };
}

const sighting = (ref: string, more: Partial<Sighting> = {}): Sighting => ({
  ref,
  responseId: `msg_0123456789${ref}`,
  model: "claude-sonnet-5",
  at: Date.parse(NOW),
  usage: usageOf({ inputTokens: 10, outputTokens: 5 }),
  quality: "exact",
  session: "s",
  ...more,
});

Deno.test("a sighting that the API can't take is refused by itself, and the others are booked", async () => {
  await using world = await openBooks();
  const { booked, known, refused, costNanoUsd } = await world.books.book([
    sighting("a"),
    sighting("x".repeat(400), { responseId: undefined }),
    sighting("b", { usage: usageOf({ inputTokens: -1, outputTokens: 5 }) }),
    sighting("c"),
    sighting("a"),
  ]);
  assert.deepEqual([booked, known, refused.length], [2, 1, 2]);
  assert.match(refused[0]!, /^ref: /);
  assert.ok(costNanoUsd > 0n);
});

Deno.test("a database in this process books as the API does", async () => {
  const sightings = [
    sighting("a"),
    sighting("b", { isPlan: true, tools: ["Bash"], folder: "/home/ada/shop", subagent: { id: "s1" } }),
    sighting("c", { model: "unknown-model", quality: "provisional" }),
    sighting("a"),
    sighting("ahead", { at: Date.parse(NOW) + 3_600_000 }),
    sighting("d", { statedCostUsd: "0.5", quality: "cost_only", usage: usageOf({}) }),
  ];
  const outcomes = [];
  for (const name of ["books", "direct"] as const) {
    await using world = await openBooks();
    const tally = await world[name].book(sightings);
    assert.deepEqual([tally.booked, tally.known, tally.unpriced, tally.refused.length], [4, 1, 1, 1]);
    const rows = await world.store.readAll([{ sql: "SELECT * FROM calls" }, {
      sql: "SELECT * FROM sightings",
    }]);
    outcomes.push([tally, rows]);
    assert.deepEqual((await world[name].book(sightings)).booked, 0);
  }
  assert.deepEqual(outcomes[1], outcomes[0]);
});

Deno.test("the states of files come back as they were stored, of one importer and machine", async () => {
  await using world = await openBooks();
  const state = (path: string, more: object = {}) => ({
    path,
    size: 5,
    modifiedAt: 7,
    readTo: 5,
    head: "5:x",
    isEnded: true,
    state: { held: [["ä", 1]] },
    unmetered: 1,
    malformed: 2,
    fault: null,
    ...more,
  });
  const files = Array.from({ length: 1_200 }, (_, n) => state(`/home/ada/${n}.jsonl`));
  for (let at = 0; at < files.length; at += 500) await world.books.save(files.slice(at, at + 500));
  const changed = state("/home/ada/7.jsonl", {
    size: 9,
    isEnded: false,
    state: null,
    fault: "permission denied",
  });
  const large = state("/home/ada/8.jsonl", { state: "x".repeat(70_000) });
  await world.books.save([changed, large]);
  for (const connection of [world.connection, { ...world.connection, core: world.core }]) {
    const read = await readFileStates(connection, world.origin);
    assert.equal(read.size, 1_200);
    assert.deepEqual(read.get("/home/ada/1.jsonl"), files[1]);
    assert.deepEqual(read.get("/home/ada/7.jsonl"), changed);
    assert.deepEqual(
      read.get("/home/ada/8.jsonl"),
      { ...large, readTo: 0, head: "", state: null },
      "it is read whole again",
    );
    for (const other of [{ machine: "desktop" }, { importer: "codex" }]) {
      assert.equal((await readFileStates(connection, { ...world.origin, ...other })).size, 0);
    }
  }
});
