import assert from "node:assert/strict";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../src/kernel/clock.ts";
import { sweepWindows } from "../src/ledger/mod.ts";
import type { Store } from "../src/store/mod.ts";
import { dialectKinds } from "./harness/databases.ts";

const NOW = Date.parse("2026-11-21T09:30:00.000Z");
const clock = { now: () => NOW };

/** Spend by minute and day of agents, at the given times before now. */
async function spend(store: Store, agents: readonly string[], agesMs: readonly number[]): Promise<void> {
  const rows = ["", ...agents].flatMap((scope) =>
    agesMs.flatMap((ageMs) => [
      [scope, "minute", Math.floor((NOW - ageMs) / MINUTE_MS) * MINUTE_MS],
      [scope, "day", Math.floor((NOW - ageMs) / DAY_MS) * DAY_MS],
    ])
  );
  await store.write([{
    sql: `INSERT INTO spend_counters (scope, kind, start, whole_usd, rest_nano_usd, first_at)
      SELECT value ->> 0, value ->> 1, CAST(value ->> 2 AS BIGINT), 0, 1, CAST(value ->> 2 AS BIGINT)
      FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
    args: [JSON.stringify(rows)],
  }]);
}

async function count(store: Store, kind: string, scope?: string): Promise<number> {
  const { rows } = await store.read({
    sql: "SELECT count(*) FROM spend_counters WHERE kind = ? AND scope = coalesce(?, scope)",
    args: [kind, scope ?? null],
  });
  return Number(rows[0]![0]);
}

for (const { name, ignore, create } of dialectKinds().filter(({ name }) => name !== "memory")) {
  const test = (sentence: string, body: (store: Store) => Promise<void>) =>
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await create();
        await body(await database.open());
      },
    });

  test("minutes of every agent are deleted after three days, and days stay", async (store) => {
    const days = Array.from({ length: 30 }, (_, day) => day * DAY_MS);
    await spend(store, ["a", "b"], [...days, HOUR_MS, DAY_MS - MINUTE_MS, DAY_MS + MINUTE_MS]);
    const before = await count(store, "day");
    await sweepWindows({ store, clock });
    for (const scope of ["", "a", "b"]) assert.equal(await count(store, "minute", scope), 7, scope);
    assert.equal(await count(store, "day"), before);
    await sweepWindows({ store, clock });
    assert.equal(await count(store, "minute"), 21);
  });

  test("a clock that is a year ahead deletes no minute that is still needed", async (store) => {
    await spend(store, ["a"], [0, HOUR_MS, 4 * DAY_MS]);
    await sweepWindows({ store, clock: { now: () => NOW + 365 * DAY_MS } });
    assert.equal(await count(store, "minute"), 4);
  });

  test("books without spend, or with old spend alone, are swept safely", async (store) => {
    await sweepWindows({ store, clock });
    await spend(store, ["a"], [400 * DAY_MS, 400 * DAY_MS + HOUR_MS]);
    await sweepWindows({ store, clock });
    assert.equal(await count(store, "minute"), 4, "the newest hour is kept, however old");
  });

  test("more rows than fit into one commit are deleted, even if other processes sweep at the same time", async (store) => {
    const minutes = Array.from({ length: 6_000 }, (_, minute) => 3 * DAY_MS + (1 + minute) * MINUTE_MS);
    await spend(store, ["a"], [0, ...minutes]);
    await Promise.all([1, 2, 3].map(() => sweepWindows({ store, clock })));
    assert.equal(await count(store, "minute"), 2);
  });
}
