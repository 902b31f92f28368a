import assert from "node:assert/strict";
import { appendEvents, type EventToAppend } from "../src/sessions/append_events.ts";
import { beginRun, createBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name:
      `${name}: events of several sessions in one commit are in the log in the order in which they are appended`,
    ignore,
    async fn() {
      await using database = await create();
      const ctx = await createBooking(await database.open());
      const runs = await Promise.all([1, 2, 3].map(() => beginRun(ctx)));
      const order = [2, 2, 0, 2, 1, 0, 1, 1, 2];
      const events = order.map((index, number): EventToAppend => ({
        ...runs[index]!,
        event: { type: "model.called", at: ctx.clock.now(), payload: { number } },
      }));
      await ctx.store.write(appendEvents(events));
      const { rows } = await ctx.store.read({
        sql:
          "SELECT CAST(payload ->> 'number' AS BIGINT) FROM events WHERE type = 'model.called' ORDER BY event_id",
      });
      assert.deepEqual(rows.flat().map(Number), order.map((_, number) => number));
    },
  });
}
