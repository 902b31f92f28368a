import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import {
  type CostFilter,
  type CostRow,
  listCalls,
  listCosts,
  type ModelCall,
  readAgentUsage,
  readCostTotal,
  readRunUsage,
  readSessionUsage,
  rollUpTotals,
  sumSteps,
  toCostEvent,
} from "../src/ledger/mod.ts";
import { readRunCost } from "./harness/run_cost.ts";
import { toIso } from "../src/kernel/clock.ts";
import { createQuery, type Store } from "../src/store/mod.ts";
import { checkTotals } from "./harness/check_books.ts";
import { dialectKinds } from "./harness/databases.ts";
import { anyCalls } from "./harness/model_calls.ts";
import { cases } from "./harness/thorough.ts";
import {
  add,
  anyFilter,
  anyRollUps,
  anySizes,
  cut,
  firstCall,
  group,
  isEntity,
  keep,
  newestCall,
  record,
  sumsOf,
} from "./harness/ledger_model.ts";

/** Sums of the ledger against plain addition over its calls. */

for (const kind of dialectKinds()) {
  const { name, ignore } = kind;
  const numRuns = cases({ file: 12, memory: 1, sqld: 1, postgres: 2 }[name]);

  /** A property over a database that is new each time. */
  const property = <T extends unknown[]>(
    sentence: string,
    arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> },
    body: (store: Store, ...values: T) => Promise<void>,
  ): void => {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      fn: () =>
        fc.assert(
          fc.asyncProperty(fc.tuple(...arbitraries) as unknown as fc.Arbitrary<T>, async (values) => {
            await using database = await kind.create();
            await body(await database.open(), ...values);
          }),
          { numRuns, endOnFailure: name !== "file" },
        ),
    });
  };

  property<[ModelCall[], number[], boolean[]]>(
    "the totals of runs, sessions and agents are the sums of their calls, in any order of bookings and roll-ups",
    [anyCalls, anySizes, anyRollUps],
    async (store, calls, sizes, rollsUp) => {
      await record(store, cut(calls, sizes), rollsUp);
      const strip = ({ model: _model, ...usage }: { model: string | null }) => usage;
      for (const runId of ["run_1", "run_4", "run_none"]) {
        const own = calls.filter((call) => call.runId === runId);
        assert.deepEqual(strip(await readRunUsage(store, runId)), add(own).wire);
        assert.equal(await readRunCost(store, runId), add(own).nano);
      }
      const usages = await readSessionUsage(store, ["ses_1", "ses_3", "ses_none"]);
      assert.deepEqual([...usages.keys()], ["ses_1", "ses_3", "ses_none"]);
      for (const [sessionId, usage] of usages) {
        assert.deepEqual(strip(usage), add(calls.filter((call) => call.sessionId === sessionId)).wire);
      }
      for (const agentId of ["ann", "none"]) {
        const own = calls.filter((call) => call.agentId === agentId);
        assert.deepEqual(strip(await readAgentUsage(store, agentId)), add(own).wire);
      }
    },
  );

  property<[ModelCall[], number[], boolean[]]>(
    "every total is the sum of the ledger's rows to the nano-USD, for any position of the roll-up",
    [anyCalls, anySizes, anyRollUps],
    async (store, calls, sizes, rollsUp) => {
      await record(store, cut(calls, sizes), rollsUp);
      await checkTotals(store);
      const { nano } = add(calls);
      const sum = async (from: string, whole: string, rest: string) => {
        const { rows } = await store.read({
          sql: `SELECT coalesce(sum(${whole}), 0), coalesce(sum(${rest}), 0) FROM ${from}`,
        });
        return (rows[0]![0] as bigint) * 1_000_000_000n + (rows[0]![1] as bigint);
      };
      assert.equal(await sum("calls", "cost_nano_usd / 1000000000", "cost_nano_usd % 1000000000"), nano);
      for (const view of ["total_usage", "daily_usage", "hourly_usage"]) {
        assert.equal(await sum(view, "whole_usd", "rest_nano_usd"), nano, view);
      }
      // The columns of PostgreSQL take nothing else.
      const types = store.engine === "postgres"
        ? "false"
        : `typeof(at) <> 'integer' OR typeof(cost_nano_usd) NOT IN ('integer', 'null')
          OR typeof(input_tokens) <> 'integer' OR typeof(is_estimated) <> 'integer' OR typeof(unpriced) <> 'integer'`;
      const wrong = await store.read({
        sql:
          `SELECT count(*) FROM calls WHERE ${types} OR unpriced <> CASE WHEN cost_nano_usd IS NULL THEN 1 ELSE 0 END`,
      });
      assert.equal(wrong.rows[0]![0], 0n);
    },
  );

  property<[ModelCall[], number[], boolean[], CostFilter[]]>(
    "listCosts and readCostTotal sum any span, agent and model in any grouping, with a tail as after a roll-up",
    [
      anyCalls,
      anySizes,
      anyRollUps,
      fc.array(anyFilter as fc.Arbitrary<CostFilter>, { minLength: 20, maxLength: 20 }),
    ],
    async (store, calls, sizes, rollsUp, filters) => {
      await record(store, cut(calls, sizes), rollsUp);
      const withTail: CostRow[][] = [];
      for (const filter of filters) {
        const expected = group(calls, filter);
        const rows = await listCosts(store, { ...filter, limit: 1_000, offset: 0 });
        withTail.push(rows);
        const seen = rows.map((row) => {
          if (!isEntity(filter)) return row;
          const { agent_id: _agent, model: _model, first_at: _first, last_at: _last, ...rest } = row;
          return rest;
        });
        assert.deepEqual(
          seen,
          expected.map((each) => ({ ...each.key, ...sumsOf(each, filter) })),
          JSON.stringify(filter),
        );
        if (isEntity(filter)) {
          rows.forEach((row, index) => {
            const members = expected[index]!.calls;
            assert.deepEqual(
              [row.agent_id, row.model, row.first_at, row.last_at],
              [
                firstCall(members).agentId,
                newestCall(members).model,
                toIso(firstCall(members).at),
                toIso(newestCall(members).at),
              ],
              "the agent is that of the first call, the model that of the latest, within the span",
            );
          });
        }
        const paged: CostRow[] = [];
        for (let offset = 0;; offset += 2) {
          const page = await listCosts(store, { ...filter, limit: 2, offset });
          paged.push(...page);
          if (page.length < 2) break;
        }
        assert.deepEqual(paged, rows);
        const previous = filter.compare
          ? keep(calls, { ...filter, from: undefined, to: undefined, ...filter.compare })
          : [];
        const { from: _from, to: _to, ...total } = await readCostTotal(store, filter);
        assert.deepEqual(total, sumsOf({ calls: keep(calls, filter), previous }, filter));
      }
      await store.write(rollUpTotals());
      for (const [index, filter] of filters.entries()) {
        assert.deepEqual(
          await listCosts(store, { ...filter, limit: 1_000, offset: 0 }),
          withTail[index],
          JSON.stringify(filter),
        );
      }
    },
  );

  property<[ModelCall[]]>(
    "a session's calls are listed in the order of their time, in pages",
    [anyCalls],
    async (store, calls) => {
      await record(store, [calls]);
      const query = createQuery(store);
      const expected = calls.filter((call) => call.sessionId === "ses_1")
        .sort((a, b) => a.at - b.at || (a.callId < b.callId ? -1 : 1)).map(toCostEvent);
      const listed = [];
      let after: [at: number, callId: string] | undefined;
      for (;;) {
        const page = await listCalls(query, { sessionId: "ses_1", limit: 3, after });
        listed.push(...page);
        if (page.length < 3) break;
        after = [Date.parse(page.at(-1)!.at), page.at(-1)!.call_id];
      }
      assert.deepEqual(listed, expected);
    },
  );
}

Deno.test("sumSteps sums the calls of each step, to the nano-USD", () => {
  // Up to 4 million USD, where a number of the wire is still exact.
  const capped = anyCalls.map((calls) =>
    calls.map((call) => ({ ...call, costNanoUsd: call.costNanoUsd && call.costNanoUsd % 10n ** 14n }))
  );
  fc.assert(fc.property(capped, (calls) => {
    const steps = sumSteps(calls.map(toCostEvent));
    const own = (step: typeof steps[number]) =>
      calls.filter((call) => call.step !== null && call.runId === step.run_id && call.step === step.step);
    assert.equal(steps.reduce((sum, step) => sum + step.model_calls, 0), calls.length);
    for (const step of steps) {
      if (step.step === null) continue;
      const { wire } = add(own(step));
      assert.deepEqual(
        [
          step.model_calls,
          step.unpriced_calls,
          step.partly_priced_calls,
          step.input_tokens,
          step.output_tokens,
          step.total_tokens,
          step.cost_usd,
        ],
        [
          wire.model_calls,
          wire.unpriced_calls,
          wire.partly_priced_calls,
          wire["input_tokens" as never],
          wire["output_tokens" as never],
          wire.total_tokens,
          wire.cost_usd,
        ],
      );
    }
  }));
});
