import assert from "node:assert/strict";
import { BudgetExceededError } from "../src/kernel/errors.ts";
import { meter } from "../src/runner/mod.ts";
import { recoverRuns } from "../src/sessions/mod.ts";
import { beginRun, createBooking, failBookings } from "./harness/booking.ts";
import {
  checkAllFree,
  countReservations,
  inputOf,
  OUTPUT_RATE,
  RUN,
  settings,
} from "./harness/budget_settings.ts";
import { type AnswerCall, fakeModel, turns } from "./harness/fake_model.ts";
import { type Metered, openMetered } from "./harness/metered_budget.ts";
import { readRunCost } from "./harness/run_cost.ts";

for (const { name, ignore, create } of settings) {
  const test = (
    sentence: string,
    options: { limit: bigint; mode: "stop" | "strict"; answer: AnswerCall },
    body: (metered: Metered) => Promise<void>,
  ): void => {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await create();
        await body(await openMetered(database, options));
      },
    });
  };

  const small: AnswerCall = () => Promise.resolve({ inputTokens: 10, outputTokens: 10 });

  for (const mode of ["stop", "strict"] as const) {
    test(
      `a ${mode} budget of nothing makes no call at all`,
      { limit: 0n, mode, answer: small },
      async (metered) => {
        const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => metered.call()));
        for (const outcome of outcomes) {
          const { reason } = outcome as PromiseRejectedResult;
          assert.ok(reason instanceof BudgetExceededError);
          assert.deepEqual(reason.details, { cost_usd_so_far: 0, budget_usd: 0 });
        }
        assert.equal(metered.calls(), 0);
        await checkAllFree(metered.ctx, metered.limit);
      },
    );

    test(`a ${mode} call that fails at the provider releases its reservation`, {
      limit: 10_000_000n,
      mode,
      answer: () => Promise.reject(new Error("overloaded")),
    }, async (metered) => {
      await assert.rejects(metered.call(), /overloaded/);
      await checkAllFree(metered.ctx, metered.limit);
      assert.equal(await readRunCost(metered.ctx.store, RUN), 0n);
    });

    test(`a ${mode} call that is cancelled in flight releases its reservation`, {
      limit: 10_000_000n,
      mode,
      answer: async ({ abortSignal }) => {
        await turns(1_000, abortSignal);
        throw new Error("it was not cancelled");
      },
    }, async (metered) => {
      const controller = new AbortController();
      const call = metered.call({ abortSignal: controller.signal });
      while (metered.calls() === 0) await turns(1);
      controller.abort();
      await assert.rejects(call, { name: "AbortError" });
      await checkAllFree(metered.ctx, metered.limit);
    });

    test(`a ${mode} call that is cancelled before it begins is not made`, {
      limit: 10_000_000n,
      mode,
      answer: small,
    }, async (metered) => {
      await assert.rejects(metered.call({ abortSignal: AbortSignal.abort() }), { name: "AbortError" });
      assert.equal(metered.calls(), 0);
      await checkAllFree(metered.ctx, metered.limit);
    });

    test(`a ${mode} call cancelled while it waits for room leaves no reservation, and the others continue`, {
      // Room for one call at a time.
      limit: mode === "stop" ? 1n : 2_000_000n,
      mode,
      answer: async () => {
        await turns(20);
        return { inputTokens: 0, outputTokens: 0 };
      },
    }, async (metered) => {
      const controller = new AbortController();
      const first = metered.call({ maxOutputTokens: 400 });
      while (metered.calls() === 0) await turns(1);
      const waiting = metered.call({ maxOutputTokens: 400, abortSignal: controller.signal });
      const patient = metered.call({ maxOutputTokens: 400 });
      await turns(3);
      assert.equal(metered.calls(), 1);
      controller.abort();
      await assert.rejects(waiting, { name: "AbortError" });
      await first;
      await patient;
      assert.equal(metered.calls(), 2);
      await checkAllFree(metered.ctx, metered.limit);
    });

    const keeps = mode === "strict" ? "keeps what it reserves" : "releases its reservation";
    test(`a ${mode} call that can't be booked, nor spooled, ${keeps} and is logged`, {
      limit: 10_000_000n,
      mode,
      answer: small,
    }, async (metered) => {
      const { ctx } = metered;
      const repair = failBookings(ctx.store, new Error("gone"));
      await assert.rejects(metered.call(), /Cannot book a model call/);
      repair();
      assert.match(ctx.errors[0]!.message, /could not be booked/);
      if (mode === "stop") return await checkAllFree(ctx, metered.limit);
      const read = "SELECT DISTINCT reservation_id, worst_nano_usd > 0, is_lost FROM reservations";
      const held = (await ctx.store.read({ sql: read })).rows;
      assert.deepEqual(held.map(([, ...row]) => row), [[1n, 1n]]);
      await ctx.store.write(ctx.gate.endRun(RUN));
      assert.equal(await countReservations(ctx.store), 0, "it was of the run alone, which has ended");
    });
  }

  test("a stop budget refuses once it is reached exactly", {
    limit: 3n * 50_000n,
    mode: "stop",
    answer: small, // costs 50,000
  }, async (metered) => {
    for (let i = 0; i < 3; i++) await metered.call();
    await assert.rejects(metered.call(), (error) => {
      assert.ok(error instanceof BudgetExceededError);
      assert.deepEqual(error.details, { cost_usd_so_far: 0.00015, budget_usd: 0.00015 });
      return true;
    });
    assert.equal(metered.calls(), 3);
    await checkAllFree(metered.ctx, metered.limit);
  });

  test("a stop budget that is one nano-USD short of reached allows one more call", {
    limit: 3n * 50_000n + 1n,
    mode: "stop",
    answer: small,
  }, async (metered) => {
    for (let i = 0; i < 4; i++) await metered.call();
    await assert.rejects(metered.call(), BudgetExceededError);
    assert.equal(metered.calls(), 4);
  });

  test("a strict budget lowers the output limit to what fits", {
    limit: 2_000_000n,
    mode: "strict",
    answer: ({ maxOutputTokens }) => Promise.resolve({ inputTokens: 100, outputTokens: maxOutputTokens! }),
  }, async (metered) => {
    await metered.call({ maxOutputTokens: 100_000 });
    const cost = await readRunCost(metered.ctx.store, RUN);
    assert.ok(cost > 0n && cost <= metered.limit, String(cost));
    assert.ok(cost < 100_000n * OUTPUT_RATE);
    await checkAllFree(metered.ctx, metered.limit);
  });

  test(
    "strict calls cancelled in flight spend the budget by what they may have cost",
    {
      limit: 10_000_000n,
      mode: "strict",
      answer: async ({ abortSignal }) => {
        await turns(10_000, abortSignal);
        return { inputTokens: 1, outputTokens: 1 };
      },
    },
    async ({ call, calls }) => {
      let refused: unknown;
      for (let i = 0; i < 50 && !refused; i++) {
        const controller = new AbortController();
        const made = calls();
        const attempt = call({ maxOutputTokens: 1_000, abortSignal: controller.signal }).catch((error) => {
          if (error instanceof BudgetExceededError) refused = error;
        });
        while (calls() === made && !refused) await turns(1);
        controller.abort();
        await attempt;
      }
      assert.ok(refused instanceof BudgetExceededError);
      assert.ok(calls() <= 2, "each may have cost over 4,000,000 of 10,000,000 nano-USD");
    },
  );

  test("a strict budget refuses a call without an upper bound, unsent", {
    limit: 2_000_000n,
    mode: "strict",
    answer: small,
  }, async (metered) => {
    const ctx = metered.ctx;
    const model = meter(ctx, fakeModel(small).model, {
      agentId: "agent",
      runId: RUN,
      provider: "local",
      costBudgetUsd: 1,
      budgetMode: "strict",
    });
    const prompt = [{
      role: "user" as const,
      content: [{
        type: "file" as const,
        mediaType: "image/png",
        data: { type: "url" as const, url: new URL("https://x.example/i.png") },
      }],
    }];
    await assert.rejects(async () => await model.doGenerate({ prompt }), /holds a file \(image\/png\)/);
    assert.equal(metered.calls(), 0);
    await checkAllFree(ctx, metered.limit);
  });

  test("a strict call whose reported usage exceeds its bound is booked in full and is the last", {
    limit: 10_000_000n,
    mode: "strict",
    answer: () => Promise.resolve({ inputTokens: 10, outputTokens: 1_000 }),
  }, async (metered) => {
    await metered.call({ maxOutputTokens: 10 });
    assert.equal(await readRunCost(metered.ctx.store, RUN), 4_010_000n);
    await assert.rejects(metered.call({ maxOutputTokens: 10 }), BudgetExceededError);
    assert.equal(metered.calls(), 1);
    await checkAllFree(metered.ctx, metered.limit);
  });

  test("a call in flight when the process dies reserves nothing after the recovery", {
    limit: 2_000_000n,
    mode: "strict",
    answer: small,
  }, async ({ ctx }) => {
    await beginRun(ctx, { runId: RUN });
    const budget = { limitNanoUsd: 2_000_000n, mode: "strict" as const };
    const scopes = { runId: RUN, agentId: "agent", sessionId: null, keyId: null };
    assert.ok((await ctx.gate.admit({ ...scopes, budget, bound: () => inputOf(1_000_000) })).go);
    // The process is dead and, on a shared database, its lease has expired.
    await ctx.store.write([{ sql: "UPDATE runs SET lease_until = 0" }]);
    const next = await createBooking(ctx.store);
    assert.deepEqual(await recoverRuns(next), [RUN]);
    await checkAllFree(next, budget.limitNanoUsd);
  });
}
