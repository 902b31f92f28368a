import assert from "node:assert/strict";
import type { SetWriter } from "../write_unit.ts";
import { loadSqlite } from "./sqlite_driver.ts";
import { SqliteStore } from "./sqlite_store.ts";

const writer: SetWriter<{ name: string; mayLose: boolean }, void> = {
  sizeOf: () => 100,
  mayLose: ({ mayLose }) => mayLose,
  plan: (items) => ({
    statements: items.map(({ name }) => ({ sql: "INSERT INTO names VALUES (?)", args: [name] })),
    read: () => items.map(() => {}),
  }),
};

/** Opens a file, and notes how each commit is made durable. */
async function openWatched(durability: "full" | "normal") {
  const folder = await Deno.makeTempDir({ prefix: "purser_unflushed_" });
  const driver = await loadSqlite();
  const { connect } = driver;
  const commits: string[] = [];
  driver.connect = (...args) => {
    const connection = connect(...args);
    const { prepare } = connection;
    connection.prepare = (sql) => {
      if (sql !== "COMMIT") return prepare(sql);
      const statement = prepare(sql);
      const run: typeof statement.run = (...values) => {
        const [row] = prepare("SELECT synchronous FROM pragma_synchronous").all() as unknown[][];
        commits.push(String(Object.values(row!)[0]));
        return statement.run(...values);
      };
      return {
        columns: () => statement.columns(),
        all: (...values) => statement.all(...values),
        iterate: (...values) => statement.iterate(...values),
        run,
      };
    };
    return connection;
  };
  const path = `${folder}/books.db`;
  const store = await SqliteStore.open({ path, durability, driver });
  await store.write([{ sql: "CREATE TABLE names (name TEXT) STRICT" }]);
  commits.splice(0);
  return {
    store,
    commits,
    async [Symbol.asyncDispose]() {
      await store.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

const [NORMAL, FULL] = ["1", "2"];

Deno.test("a commit of items alone that a power loss may undo waits for no disk, every other one does", async () => {
  await using watched = await openWatched("full");
  const { store, commits } = watched;
  await store.writeInSet(writer, { name: "a", mayLose: true });
  await store.writeInSet(writer, { name: "b", mayLose: false });
  await Promise.all([
    store.writeInSet(writer, { name: "c", mayLose: true }),
    store.write([{ sql: "INSERT INTO names VALUES ('d')" }]),
  ]);
  await store.writeInSet(writer, { name: "e", mayLose: true });
  await store.write([{ sql: "INSERT INTO names VALUES ('f')" }]);
  assert.deepEqual(commits, [NORMAL, FULL, FULL, NORMAL, FULL]);
  const { rows } = await store.read({ sql: "SELECT group_concat(name, '') FROM names" });
  assert.deepEqual(rows, [["abcdef"]]);
});

Deno.test("after a failed commit that a power loss may undo, the next one waits for the disk", async () => {
  await using watched = await openWatched("full");
  const { store, commits } = watched;
  await store.write([{ sql: "CREATE UNIQUE INDEX once ON names (name)" }]);
  await store.writeInSet(writer, { name: "a", mayLose: false });
  commits.splice(0);
  await assert.rejects(store.writeInSet(writer, { name: "a", mayLose: true }), /UNIQUE/);
  await store.writeInSet(writer, { name: "b", mayLose: false });
  assert.deepEqual(commits, [FULL]);
});

Deno.test("a database without flushed commits stays one", async () => {
  await using watched = await openWatched("normal");
  const { store, commits } = watched;
  await store.writeInSet(writer, { name: "a", mayLose: true });
  await store.writeInSet(writer, { name: "b", mayLose: false });
  assert.deepEqual(commits, [NORMAL, NORMAL]);
});
