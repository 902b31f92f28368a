import assert from "node:assert/strict";
import { systemClock } from "../src/kernel/clock.ts";
import { createIds } from "../src/kernel/ids.ts";
import { check } from "./harness/doctor.ts";
import { skipSqld, type SqldDatabase, startSqld } from "./harness/sqld.ts";
import { makeSqldKey } from "./harness/sqld_key.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** Access to a libSQL server with namespaces, as docs/operating.md describes it. */

const open = ({ url, fetch }: SqldDatabase, dbToken?: string) =>
  openTestPurser({
    config: { dbUrl: url, dbToken, remoteTimeoutMs: 10_000 },
    fetch,
    clock: systemClock,
    ids: createIds(systemClock),
  });

const { key, tokenFor } = makeSqldKey();
const OF_TENANT = tokenFor({ p: { rw: { ns: ["tenant-a"] } } });
const OF_ALL = tokenFor({ a: "rw" });

Deno.test({
  name: "with a server key, no namespace answers without a token, and a tenant's token opens its own alone",
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld({ durability: "strong", key, args: ["--disable-default-namespace"] });
    const [own, other] = [await sqld.createDatabase("tenant-a"), await sqld.createDatabase("tenant-b")];
    for (const database of [own, other, sqld.databaseOf("default")]) {
      await assert.rejects(open(database), { code: "unavailable", message: /refused the token/ });
    }
    const unknown = {
      code: "unavailable",
      message: /no database of that name, .* or the token is for another one/,
    };
    for (const database of [other, sqld.databaseOf("default")]) {
      await assert.rejects(open(database, OF_TENANT), unknown);
    }
    await using purser = await open(own, OF_TENANT);
    assert.equal((await check(purser, "database")).status, "ok");
    await (await open(other, OF_ALL)).core.close();
  },
});

Deno.test({
  name:
    "the doctor warns of a libSQL server that answers without the token, which it does without a server key",
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld({ durability: "strong" });
    const database = await sqld.createDatabase("tenant-a");
    await using purser = await open(database, OF_TENANT);
    const { status, detail, advice } = await check(purser, "database");
    assert.equal(status, "warning");
    assert.match(
      detail,
      /it answers without the token, too: whoever reaches it can read and change all of it$/,
    );
    assert.match(advice!, /SQLD_AUTH_JWT_KEY/);
    await using without = await open(database);
    assert.equal((await check(without, "database")).status, "ok");
  },
});
