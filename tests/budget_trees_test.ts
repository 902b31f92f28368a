import assert from "node:assert/strict";
import { createBudget } from "../src/budgets/mod.ts";
import { bookMadeCall } from "../src/calls/mod.ts";
import { toUsd } from "../src/kernel/money.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { countReservations, kinds, kindsInTime } from "./harness/budget_settings.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { modelCall } from "./harness/model_calls.ts";

/** A strict budget per tree under the sub-agents of several instances at once. */

const INSTANCES = 3;
const COST = 10n;
/** The cost of seven calls: the seventh reaches the limit exactly. */
const LIMIT = 70n;

for (
  const { name, ignore, create } of kinds.filter((kind) =>
    kind.name === "file" || (kind.name !== "memory" && kindsInTime.includes(kind))
  )
) {
  Deno.test({
    name:
      `${name}: sub-agents of several instances fill a strict budget per tree exactly, and never exceed it`,
    ignore,
    async fn() {
      await using database = await create();
      const contexts: TestBooking[] = [];
      for (let i = 0; i < INSTANCES; i++) {
        contexts.push(await createBooking(await database.open(), { clock: eagerClock() }));
      }
      const [first] = contexts;
      await createBudget(first!, {
        ...{ name: "Tree", limit_usd: toUsd(LIMIT), per: "tree", mode: "strict" },
      });
      for (const { budgets } of contexts) budgets.changed();
      let calls = 0;
      /** Makes a call of a sub-agent, or of the main agent; returns whether it was let in. */
      async function call(ctx: TestBooking, session: string, root = "main"): Promise<boolean> {
        const scopes = {
          ...{ agentId: session, sessionId: session, runId: null, keyId: null },
          ...(session !== root && { rootSessionId: root }),
        };
        const bounds = { estimateNanoUsd: COST, isUnpriced: false, worst: { costNanoUsd: COST } };
        const admission = await ctx.gate.admit({ ...scopes, budget: null, bound: () => bounds });
        if (!admission.go) return false;
        const made = { callId: `call_${++calls}`, at: admission.at, costNanoUsd: COST };
        await bookMadeCall(ctx, modelCall({ ...scopes, ...made }), admission.grant);
        return true;
      }
      const atOnce = await Promise.all(
        Array.from(
          { length: 24 },
          (_, index) =>
            call(contexts[index % INSTANCES]!, index % 4 === 0 ? "main" : `sub-agent-${index % 5}`),
        ),
      );
      let letIn = atOnce.filter(Boolean).length;
      assert.ok(BigInt(letIn) * COST <= LIMIT, `${letIn} calls`);
      // Of those that were refused while others held the budget, some fit now: the limit is reached exactly.
      while (await call(contexts[letIn % INSTANCES]!, "late")) letIn++;
      assert.equal(BigInt(letIn) * COST, LIMIT);
      assert.equal(await call(first!, "main"), false, "the main agent, too");
      assert.equal(await call(first!, "late", "late"), true, "another tree has a counter of its own");
      assert.equal(await countReservations(first!.store), 0);
    },
  });
}
