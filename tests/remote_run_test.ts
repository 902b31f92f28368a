import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { readSse } from "./harness/sse_reader.ts";
import { serverKindsInTime } from "./harness/database_servers.ts";
import { openTestPurser, rejection, type TestPurser } from "./harness/test_purser.ts";

const MODEL = "openai.chat:gpt-4o-mini";

for (const kind of serverKindsInTime) {
  Deno.test({
    name:
      `${kind.name}: instances on one database: a run of one is visible to the others, in their costs, and can be cancelled there`,
    ignore: kind.ignore,
    async fn(test) {
      await using server = await kind.start(false);
      const asked = Promise.withResolvers<void>();
      await using fake = await startFakeProvider((request) => {
        if (!JSON.stringify(request.body).includes("Hang")) return answerTo(request, { text: "Hello" });
        asked.resolve();
        return { hang: true };
      });
      const { createIds } = await import("../src/kernel/ids.ts");
      const open = () =>
        openTestPurser({ fake, ids: createIds({ now: () => Date.now() }), config: { dbUrl: server.url } });
      await using one = await open();
      await using two = await open();

      await test.step("a run of one instance is in the other's API, exact to the nano-USD", async () => {
        await one.api("PUT", "/agents/a", { model: MODEL });
        const { body: result } = await two.api("POST", "/agents/a/runs", { input: "Hi", session_id: "s1" });
        assert.equal(result.token_usage.cost_usd, 0.0000027);
        const { token_usage } = (await one.api("GET", `/runs/${result.run_id}`)).body;
        assert.deepEqual(token_usage, result.token_usage);
        assert.equal((await one.api("GET", "/sessions/s1/events")).body.length, 5);
      });

      await test.step("the stream of one instance has the events of the other", async () => {
        const stream = readSse(await one.fetch("GET", "/events"));
        await two.run({ model: MODEL }, "Hi", { sessionId: "s2" });
        const types: (string | undefined)[] = [];
        const reading = (async () => {
          while (types.length < 5) {
            const frame = await stream.next();
            if (frame?.comment === undefined) types.push(frame?.event); // it keeps the connection alive
          }
        })();
        while (types.length < 5) await tick(one);
        await reading;
        assert.deepEqual(types, [
          "session.created",
          "run.started",
          "model.called",
          "cost.recorded",
          "run.completed",
        ]);
        await stream.leave();
      });

      await test.step("a session that one instance uses is busy for the other, which can cancel its run", async () => {
        const run = one.run({ model: MODEL, agentId: "a" }, "Hang", { sessionId: "s3" });
        await asked.promise;
        const busy = await rejection(two.run({ model: MODEL, agentId: "a" }, "Hi", { sessionId: "s3" }));
        assert.equal(busy.code, "conflict");
        const [runId] = one.core.liveRuns.keys();
        assert.equal((await two.api("POST", `/runs/${runId}/cancel`)).status, 202);
        let isOver = false;
        const ended = run.finally(() => isOver = true);
        // The lease is renewed by the clock; the other instance's request is seen then.
        while (!isOver) await tick(one);
        assert.equal((await ended).status, "cancelled");
        assert.equal((await two.api("GET", "/sessions/s3")).body.active_run_id, null);
      });

      await test.step("a budget holds over a shared database, and leaves no reservation", async () => {
        for (const budgetMode of ["stop", "strict"] as const) {
          const agent = { model: MODEL, costBudgetNanoUsd: 400_000n, budgetMode };
          assert.equal((await one.run(agent, "Hi")).status, "completed");
          const error = await rejection(two.run({ ...agent, costBudgetNanoUsd: 0n }, "Hi"));
          assert.equal(error.code, "budget_exceeded");
        }
        const { rows } = await one.core.store.read({ sql: "SELECT count(*) FROM reservations" });
        assert.equal(Number(rows[0]![0]), 0);
      });
    },
  });
}

/** Advances the clock of one instance, far slower than its database answers, which has ten seconds of it and reads side by side. */
async function tick(purser: TestPurser): Promise<void> {
  purser.clock.advance(20);
  for (let i = 0; i < 3; i++) await purser.core.store.read({ sql: "SELECT 1" });
}
