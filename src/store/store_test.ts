import assert from "node:assert/strict";
import { databaseKinds } from "../../tests/harness/databases.ts";
import { checkWritable } from "./store.ts";

for (const kind of databaseKinds()) {
  Deno.test({
    name: `${kind.name}: checkWritable() changes a row, always the same one`,
    ignore: kind.ignore,
    async fn() {
      await using database = await kind.create();
      const store = await database.open();
      for (let count = 1n; count <= 3n; count++) {
        await checkWritable(store);
        const { rows } = await store.read({ sql: "SELECT what, count FROM tallies" });
        assert.deepEqual(rows, [["probe", count]]);
      }
    },
  });
}
