import assert from "node:assert/strict";
import { importSession } from "../../../snapshots/mod.ts";
import type { Statement } from "../../../store/mod.ts";
import { memoryTerminal } from "../../../../tests/harness/memory_terminal.ts";
import { openTestBooks } from "../../../../tests/harness/test_books.ts";

/** `purser state import` of a session that has more messages here. */

function snapshotOf(count: number) {
  return JSON.stringify({
    schema_version: 1,
    agent_id: "helper",
    session_id: "s1",
    state: {
      messages: Array.from({ length: count }, (_, i) => ({ role: "user", content: `Message ${i}` })),
      status: "completed",
    },
    event_log_count: 1,
    tags: {},
    source_environment: "production",
    exported_at: "2026-11-21T09:00:00.000Z",
  });
}

async function openBooksWithSession() {
  const books = await openTestBooks();
  const folder = await Deno.makeTempDir({ prefix: "purser_import_" });
  const short = `${folder}/short.json`;
  await Deno.writeTextFile(short, snapshotOf(2));
  const terminal = memoryTerminal({ stdin: snapshotOf(4) });
  assert.equal((await books.purser("state import -", { terminal })).code, 0);
  return {
    short,
    core: books.core,
    purser: books.purser,
    messages: async () => JSON.parse((await books.purser("sessions show s1 --json")).out).message_count,
    async [Symbol.asyncDispose]() {
      await books[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

const REFUSAL =
  "error: Cannot restore session s1: it has more messages here (4) than the snapshot has (2), which would replace them\n" +
  "To replace it, add --yes\n";

Deno.test("state import replaces a longer session only with --yes, where there is no terminal", async () => {
  await using books = await openBooksWithSession();
  const line = `state import ${books.short}`;
  const dryRun = await books.purser(`${line} --dry-run`);
  assert.deepEqual([dryRun.code, dryRun.err], [0, ""]);
  assert.match(
    dryRun.out,
    /it has 4 messages\nIt would get shorter: an import asks for confirmation, or needs --yes\nNothing was/,
  );
  assert.deepEqual(await books.purser(line), { code: 1, out: "", err: REFUSAL });
  const piped = await books.purser("state import -", { terminal: memoryTerminal({ stdin: snapshotOf(2) }) });
  assert.deepEqual(piped, { code: 1, out: "", err: REFUSAL });
  // A terminal is not asked for --json: its output is read by a program.
  const terminal = memoryTerminal({ columns: 80, keys: ["y"] });
  const json = await books.purser(`${line} --json`, { terminal });
  const { code, details } = JSON.parse(json.err);
  assert.deepEqual({ code, details }, {
    code: "conflict",
    details: { session_id: "s1", messages_before: 4, messages_restored: 2 },
  });
  assert.equal(await books.messages(), 4);

  const done = await books.purser(`${line} --yes`);
  assert.deepEqual([done.code, done.err], [0, ""]);
  assert.match(done.out, /^Restored session s1 of helper: 2 messages\nIt was replaced: it had 4 messages\n/);
  assert.equal((await books.purser(line)).code, 0);
  assert.equal(await books.messages(), 2);
});

Deno.test("state import asks on a terminal, and replaces a longer session only after y", async () => {
  for (const [key, code] of [["n", 1], ["enter", 1], ["escape", 1], ["ctrl-c", 130], ["y", 0], ["Y", 0]]) {
    await using books = await openBooksWithSession();
    const terminal = memoryTerminal({ columns: 200, keys: [String(key)] });
    const outcome = await books.purser(`state import ${books.short}`, { terminal });
    assert.equal(outcome.code, code, String(key));
    assert.match(outcome.err, /than the snapshot has \(2\).*\nReplace it\? \[y\/N\] /);
    assert.equal(await books.messages(), code === 0 ? 2 : 4);
  }
});

Deno.test("a session that grows while it is being replaced is kept", async () => {
  await using books = await openBooksWithSession();
  const { core } = books;
  let hasGrown = false;
  const store = new Proxy(core.store, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== "write") return typeof value === "function" ? value.bind(target) : value;
      return async (statements: Statement[]) => {
        if (!hasGrown) {
          hasGrown = true;
          await target.write([{ sql: "UPDATE sessions SET message_count = 9 WHERE session_id = 's1'" }]);
        }
        return await target.write(statements);
      };
    },
  });
  const bytes = async function* () {
    yield new TextEncoder().encode(snapshotOf(4));
  };
  const ctx = new Proxy(core, {
    get: (target, name) => name === "store" ? store : Reflect.get(target, name),
  });
  await assert.rejects(importSession(ctx, bytes(), { keepLonger: true }), {
    code: "conflict",
    details: { session_id: "s1", messages_before: 9, messages_restored: 4 },
  });
  assert.deepEqual((await core.store.read({ sql: "SELECT count(*) FROM loose_generations" })).rows, [[0n]]);
});
