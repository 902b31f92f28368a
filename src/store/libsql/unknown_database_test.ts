import assert from "node:assert/strict";
import { createIds } from "../../kernel/ids.ts";
import { systemClock } from "../../kernel/clock.ts";
import { eagerClock } from "../../../tests/harness/eager_clock.ts";
import { skipSqld, type SqldDatabase, startSqld } from "../../../tests/harness/sqld.ts";
import { RemoteStore } from "./libsql_store.ts";

/** The answer 404: the server has no database of that name, or has just evicted it and opens it again. */

const ids = createIds(systemClock);
const INSERT = { sql: "INSERT INTO t VALUES (1)" };
const COUNT = { sql: "SELECT count(*) FROM t" };
const REFUSED = {
  code: "unavailable",
  message: /^Cannot (read|write) the database at .*: it answers 404: there is no database of that name/,
};

const connect = ({ url, fetch }: Pick<SqldDatabase, "url" | "fetch">, clock = eagerClock()) =>
  new RemoteStore({ url, fetch, clock, timeoutMs: 10_000, newToken: () => ids.next("req") });

Deno.test({
  name: "404 is retried for 2 s, and then means that the server has no database of that name",
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld();
    const place = await sqld.createDatabase();
    let refusals = 0;
    const fetch: typeof globalThis.fetch = async (input, init) =>
      refusals-- > 0
        ? Response.json({ error: "Namespace `a` doesn't exist" }, { status: 404 })
        : await place.fetch(input, init);
    const clock = eagerClock();
    const store = connect({ url: place.url, fetch }, clock);
    await store.write([{ sql: "CREATE TABLE t (a)" }]);
    refusals = 3;
    await store.write([INSERT]);
    refusals = 5;
    assert.equal((await store.read(COUNT)).rows[0]![0], 1n);
    for (const attempt of [() => store.read(COUNT), () => store.write([INSERT])]) {
      refusals = 50;
      const start = clock.monotonic();
      await assert.rejects(attempt(), REFUSED);
      const tookMs = clock.monotonic() - start;
      assert.ok(tookMs > 1_000 && tookMs <= 2_000, `${tookMs} ms`);
    }
    refusals = 0;
    assert.equal((await store.read(COUNT)).rows[0]![0], 1n);
    await store.close();

    const unknown = connect(sqld.databaseOf("nowhere"));
    await assert.rejects(unknown.read(COUNT), REFUSED);
    await unknown.close();
  },
});
