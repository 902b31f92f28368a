import assert from "node:assert/strict";
import { createShared, sharedInTime } from "../harness/database_servers.ts";
import { openFleet } from "../harness/instances.ts";
import { isThorough } from "../harness/thorough.ts";
import { startWebhookReceiver } from "../harness/webhook_receiver.ts";
import { lookInto, until } from "./alert_workers.ts";

/** Two real servers on one database reach a budget together: each share is reported to a real webhook once per window. */

const DAY = { name: "Day", limit_usd: 0.0002, per: "day", warn_at: [0.25, 0.5, 0.8, 1] };

// Two servers on a file share it as in `tests/shared_file_test.ts`: the gate has time for those on a server.
for (const { where, ignore } of sharedInTime.filter(({ where }) => where !== "file" || isThorough)) {
  Deno.test({
    name: `${where}: two servers that reach a budget together send each of its warnings once`,
    ignore,
    async fn() {
      await using stack = new AsyncDisposableStack();
      const { db } = stack.use(await createShared(where));
      const receiver = stack.use(startWebhookReceiver());
      const fleet = stack.use(await openFleet({ db }, receiver));
      const servers = [await fleet.start("a"), await fleet.start("b")] as const;
      await servers[0].send("PUT", "/agents/helper", { model: "demo:echo" });
      assert.equal((await servers[0].send("POST", "/budgets", DAY)).status, 201);
      const answers = await Promise.all(
        Array.from(
          { length: 32 },
          (_, number) =>
            servers[number % 2]!.send("POST", "/agents/helper/runs", { input: "Hello there, friend" }),
        ),
      );
      const made = answers.filter(({ status }) => status === 200).length;
      const refused = answers.filter(({ status }) => status === 402);
      assert.equal(made + refused.length, 32, JSON.stringify(answers.find(({ status }) => status > 402)));
      assert.ok(made > 0 && refused.length > 0, `${made} made`);
      for (const { body } of refused) {
        assert.match(
          body.detail,
          /the budget “Day” \(\$0\.0002 per UTC day, all agents\) has \$0\.000\d+ spent and /,
        );
      }
      const store = stack.use(await lookInto(db));
      await until("all is delivered", async () => {
        const { rows } = await store.read({
          sql: "SELECT count(*) FROM deliveries WHERE status = 'pending'",
        });
        return rows[0]![0] === 0n;
      });
      const sent = receiver.received.map(({ body }) => JSON.parse(body).data.threshold_usd as number);
      assert.equal(new Set(sent).size, sent.length, `${sent}`);
      assert.ok(sent.includes(0.0002), `${sent}`);
      const { rows: [alerts] } = await store.read({ sql: "SELECT count(*) FROM alerts" });
      assert.equal(Number(alerts![0]), sent.length);
      const { body: [budget] } = await servers[1].send("GET", "/budgets");
      assert.deepEqual([budget.reserved_usd, budget.refused_calls, budget.state], [
        0,
        refused.length,
        "reached",
      ]);
    },
  });
}
