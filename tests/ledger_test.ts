import { COST_SORTS, type Grouping, GROUPINGS, SPLITS } from "../src/contract/values.ts";
import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { HOUR_MS, toIso } from "../src/kernel/clock.ts";
import {
  type CostFilter,
  type CostRow,
  costUsd,
  COUNT_WITHOUT_RULES,
  listCalls,
  listCosts,
  type ModelCall,
  MOVE_COUNTERS,
  readAgentUsage,
  readCostTotal,
  readRunUsage,
  readSessionUsage,
  recordCalls,
  rollUpTotals,
  sumSteps,
  toCostEvent,
} from "../src/ledger/mod.ts";
import { adjustCall } from "./harness/adjust.ts";
import { readRunCost } from "./harness/run_cost.ts";
import { toUsd } from "../src/kernel/money.ts";
import { usageOf } from "../src/pricing/mod.ts";
import { ConstraintError, createQuery, type Store } from "../src/store/mod.ts";
import { checkTotals } from "./harness/check_books.ts";
import { databaseKinds } from "./harness/databases.ts";
import { anyCalls, anyTime, modelCall } from "./harness/model_calls.ts";
import { cases } from "./harness/thorough.ts";

const COUNTED = [
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
];

/** The totals of some calls in wire form, by plain addition. */
function add(calls: readonly ModelCall[]) {
  const events = calls.map(toCostEvent);
  const sum = (field: string) =>
    events.reduce((total, event) => total + (event as unknown as Record<string, number>)[field]!, 0);
  const priced = calls.filter((call) => call.costNanoUsd !== null);
  const nano = priced.reduce((total, call) => total + call.costNanoUsd!, 0n);
  return {
    nano,
    estimated: calls.filter((call) => call.isEstimated).length,
    wire: {
      model_calls: calls.length,
      unpriced_calls: calls.length - priced.length,
      partly_priced_calls: calls.filter((call) => call.unpricedParts).length,
      ...Object.fromEntries(COUNTED.map((field) => [field, sum(field)])),
      total_tokens: sum("input_tokens") + sum("output_tokens"),
      cost_usd: costUsd({
        modelCalls: calls.length,
        unpricedCalls: calls.length - priced.length,
        costNanoUsd: nano,
      }),
    },
  };
}

const floor = (time: number, length: number) => Math.floor(time / length) * length;

const ofTag = (key: string) => (call: ModelCall) => ({ tag_key: key, tag_value: call.tags?.[key] ?? null });

const TAG_GROUPS = ["tag:customer", "tag:the.team-1"] as const;

const KEYS: Record<string, (call: ModelCall) => Partial<CostRow> | null> = {
  "tag:customer": ofTag("customer"),
  "tag:the.team-1": ofTag("the.team-1"),
  agent: (call) => ({ agent_id: call.agentId }),
  model: (call) => ({ provider: call.provider, model: call.model }),
  provider: (call) => ({ provider: call.provider }),
  key: (call) => ({ key_id: call.keyId ?? null }),
  hour: (call) => ({ hour: toIso(floor(call.at, HOUR_MS)) }),
  day: (call) => ({ day: toIso(call.at).slice(0, 10) }),
  session: (call) => call.sessionId === null ? null : { session_id: call.sessionId },
  run: (call) => call.runId === null ? null : { run_id: call.runId },
};

function keep(calls: readonly ModelCall[], filter: Filter): ModelCall[] {
  return calls.filter((call) =>
    call.at >= (filter.from ?? -Infinity) && call.at < (filter.to ?? Infinity) &&
    (filter.agentId === undefined || call.agentId === filter.agentId) &&
    Object.entries(filter.tags ?? {}).every(([key, value]) => call.tags?.[key] === value) &&
    (filter.provider === undefined || call.provider === filter.provider) &&
    (filter.keyId === undefined || call.keyId === filter.keyId) &&
    (filter.model === undefined || [call.model, `${call.provider}:${call.model}`].includes(filter.model))
  );
}

type Filter = Omit<CostFilter, "limit" | "offset">;

/** The first call of a group in time; of several at one time, the one that was booked first. */
function firstCall(members: readonly ModelCall[]): ModelCall {
  return members.reduce((first, call) => call.at < first.at ? call : first);
}

/** The latest call of a group in time; of several at one time, the one that was booked last. */
function newestCall(members: readonly ModelCall[]): ModelCall {
  return members.reduce((newest, call) => call.at >= newest.at ? call : newest);
}

interface Group {
  key: Partial<CostRow>;
  calls: ModelCall[];
  previous: ModelCall[];
}

const byText = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;
const byNumber = (a: number | bigint, b: number | bigint) => a < b ? -1 : a > b ? 1 : 0;
const isEntity = ({ groupBy }: Filter) => groupBy === "session" || groupBy === "run";
const isTag = (group: string | undefined) => group !== undefined && group.startsWith("tag:");
const isByDay = ({ groupBy }: Filter) => groupBy === "hour" || groupBy === "day";

/** The groups expected from `listCosts`, in their order, by plain addition over the calls. */
function group(calls: readonly ModelCall[], filter: Filter): Group[] {
  const groups = new Map<string, Group>();
  const keysOf = (call: ModelCall) => {
    const key = KEYS[filter.groupBy]!(call);
    return key && { ...key, ...filter.splitBy && KEYS[filter.splitBy]!(call) };
  };
  const collect = (members: readonly ModelCall[], which: "calls" | "previous") => {
    for (const call of members) {
      const key = keysOf(call);
      if (key === null) continue;
      const id = JSON.stringify(key, Object.keys(key).sort());
      if (!groups.has(id)) groups.set(id, { key, calls: [], previous: [] });
      groups.get(id)![which].push(call);
    }
  };
  collect(keep(calls, filter), "calls");
  if (filter.compare) {
    collect(keep(calls, { ...filter, from: undefined, to: undefined, ...filter.compare }), "previous");
  }
  const all = [...groups.values()];
  const ownKey = ({ key }: Group) => {
    const name = { session: "session_id", run: "run_id", agent: "agent_id", hour: "hour", day: "day" };
    if (filter.groupBy === "model") return `${key.provider}\0${key.model}`;
    if (filter.groupBy === "provider") return key.provider!;
    if (filter.groupBy === "key") return key.key_id ?? "";
    if (isTag(filter.groupBy)) return key.tag_value ?? "";
    return key[name[filter.groupBy as "day"] as "day"]!;
  };
  const costOf = (group: Group) =>
    add(all.filter((other) => ownKey(other) === ownKey(group)).flatMap(({ calls }) => calls)).nano;
  const isByTime = (isEntity(filter) || isByDay(filter)) && filter.sort !== "cost";
  return all.sort((a, b) =>
    (isByTime ? 0 : byNumber(costOf(b), costOf(a))) ||
    (isEntity(filter) ? firstCall(b.calls).at - firstCall(a.calls).at : 0) ||
    (isEntity(filter) || isByDay(filter) ? -1 : 1) * byText(ownKey(a), ownKey(b)) ||
    byNumber(add(b.calls).nano, add(a.calls).nano) ||
    byText(
      `${a.key.agent_id}\0${a.key.provider}\0${a.key.model}\0${a.key.tag_value ?? ""}\0${a.key.key_id ?? ""}`,
      `${b.key.agent_id}\0${b.key.provider}\0${b.key.model}\0${b.key.tag_value ?? ""}\0${b.key.key_id ?? ""}`,
    )
  );
}

type Sums = { nano: bigint; wire: ReturnType<typeof add>["wire"] & { estimated_calls: number } };

/** The sums of a group in wire form; with the comparison, if there is one. */
function sumsOf(
  { calls, previous }: Pick<Group, "calls" | "previous">,
  { compare }: Pick<Filter, "compare">,
) {
  const [own, other] = [calls, previous].map((members) => {
    const { estimated, wire, nano } = add(members);
    return { nano, wire: { ...wire, estimated_calls: estimated } };
  }) as [Sums, Sums];
  if (!compare) return own.wire;
  const isUnknown = own.wire.cost_usd === null || other.wire.cost_usd === null;
  return {
    ...own.wire,
    previous: other.wire,
    difference_usd: isUnknown ? null : toUsd(own.nano - other.nano),
  };
}

/** Books batches in this order; rolls up after those for which `rollsUp` is true, in turn. */
async function record(
  store: Store,
  batches: readonly (readonly ModelCall[])[],
  rollsUp: readonly boolean[] = [true],
): Promise<void> {
  await Promise.all(
    batches.filter((batch) => batch.length > 0).flatMap((batch, index) => [
      store.write(recordCalls(batch)),
      ...rollsUp[index % rollsUp.length] ? [store.write(rollUpTotals())] : [],
    ]),
  );
}

const anyRollUps = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 });

/** Splits calls into batches of the given sizes. */
function cut(calls: readonly ModelCall[], sizes: readonly number[]): ModelCall[][] {
  const batches: ModelCall[][] = [];
  let start = 0;
  for (let i = 0; start < calls.length; i++) {
    const size = sizes[i % sizes.length]!;
    batches.push(calls.slice(start, start + size));
    start += size;
  }
  return batches;
}

const anySizes = fc.array(fc.constantFrom(1, 1, 2, 5, 25, 26, 40), { minLength: 1, maxLength: 6 });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 3 });
/** Filters are rare, so that many reports have none or one. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const anyScope = fc.record({
  from: maybe(anyTime),
  to: maybe(anyTime),
  agentId: rarely(fc.constantFrom("ann", "bob", "none")),
  provider: rarely(fc.constantFrom("openai", "local")),
  keyId: rarely(fc.constantFrom("key_1", "key_none")),
  model: rarely(fc.constantFrom("small", "openai:large", 'it\'s a "model" 🚢')),
  tags: rarely(
    fc.constantFrom({ customer: "acme" }, { customer: "acme", "the.team-1": "a" }, { customer: "none" }),
  ),
  compare: rarely(fc.record({ from: maybe(anyTime), to: maybe(anyTime) })),
});
/** Every filter that the API accepts. */
const anyFilter = fc.record({
  groupBy: fc.constantFrom(...GROUPINGS, ...TAG_GROUPS),
  sort: maybe(fc.constantFrom(...COST_SORTS)),
  splitBy: maybe(fc.constantFrom(...SPLITS, ...TAG_GROUPS)),
  scope: anyScope,
}).map(({ scope, splitBy, ...filter }) => ({
  ...filter,
  ...scope,
  ...(isEntity(filter) || isByDay(filter) ? { compare: undefined } : {}),
  ...(!isEntity(filter) && !(isTag(filter.groupBy) && isTag(splitBy)) && { splitBy }),
}));

for (const kind of databaseKinds()) {
  const { name, ignore } = kind;
  const numRuns = cases({ file: 6, memory: 25, sqld: 4 }[name]);

  const test = (sentence: string, body: (store: Store) => Promise<void>): void => {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await kind.create();
        await body(await database.open());
      },
    });
  };

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
          { numRuns, endOnFailure: name !== "memory" },
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
      const wrong = await store.read({
        sql:
          `SELECT count(*) FROM calls WHERE typeof(at) <> 'integer' OR typeof(cost_nano_usd) NOT IN ('integer', 'null')
          OR typeof(input_tokens) <> 'integer' OR typeof(is_estimated) <> 'integer' OR typeof(unpriced) <> 'integer'
          OR unpriced <> (cost_nano_usd IS NULL)`,
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
          const { agent_id: _agent, model: _model, ...rest } = row;
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
              [row.agent_id, row.model],
              [firstCall(members).agentId, newestCall(members).model],
              "the agent is that of the first call, the model that of the latest",
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

  test("a call that is booked twice is refused, and counts once", async (store) => {
    const [a, b, c] = ["a", "b", "c"].map((callId) =>
      modelCall({ callId, runId: "run_1", sessionId: "ses_1" })
    );
    await store.write(recordCalls([a!]));
    for (const batch of [[a!], [b!, a!], [b!, c!, b!]]) {
      await assert.rejects(store.write(recordCalls(batch)), ConstraintError);
    }
    assert.equal(await readRunCost(store, "run_1"), 1_000n);
    const [row] = await listCosts(store, { groupBy: "agent", limit: 10, offset: 0 });
    assert.equal(row!.model_calls, 1);
  });

  test("totals hold any sum: whole USD and nano-USD apart", async (store) => {
    const most = 2n ** 63n - 1n;
    const dear = (callId: string) =>
      modelCall({ callId, runId: "r", sessionId: "s", costNanoUsd: most, at: Date.now() });
    const exact = async (view: string) => {
      const { rows } = await store.read({ sql: `SELECT sum(whole_usd), sum(rest_nano_usd) FROM ${view}` });
      return (rows[0]![0] as bigint) * 1_000_000_000n + (rows[0]![1] as bigint);
    };
    const decided = [COUNT_WITHOUT_RULES, MOVE_COUNTERS];
    const steps = [[], rollUpTotals(), [], decided, [...rollUpTotals(), ...decided]];
    for (const [index, more] of steps.entries()) {
      await store.write([...recordCalls([dear(`${index}`), dear(`${index}+`)]), ...more]);
      const total = most * BigInt(2 * (index + 1));
      for (const view of ["run_usage", "session_usage", "total_usage", "daily_usage", "hourly_usage"]) {
        assert.equal(await exact(view), total, view);
      }
      assert.equal((await readRunUsage(store, "r")).cost_usd, toUsd(total));
      assert.equal((await readSessionUsage(store, ["s"])).get("s")!.cost_usd, toUsd(total));
      for (const groupBy of GROUPINGS) {
        const [row] = await listCosts(store, { groupBy, limit: 10, offset: 0 });
        assert.equal(row!.cost_usd, toUsd(total), groupBy);
      }
      // Decisions see a value above any possible limit, and still an integer.
      assert.equal(await readRunCost(store, "r"), most);
      await checkTotals(store);
    }
  });

  test("rows whose sum exceeds 64 bits are listed, most expensive first", async (store) => {
    const most = 9_000_000_000_999_999_999n;
    const at = Date.parse("2028-02-29T10:30:00.000Z");
    const calls = ["a", "b", "c", "d"].map((callId, index) =>
      modelCall({
        callId,
        at: at + (index % 2) * HOUR_MS,
        agentId: index < 3 ? "ann" : "bob",
        sessionId: `s${index % 2}`,
        model: `m${index}`,
        costNanoUsd: most / BigInt(1 + index),
      })
    );
    for (const call of calls) {
      await store.write(recordCalls([call]));
      if (call.callId === "b") await store.write(rollUpTotals());
    }
    const total = (ids: string) => toUsd(add(calls.filter((call) => ids.includes(call.callId))).nano);
    const costs = async (filter: Partial<CostFilter> & { groupBy: Grouping }) =>
      (await listCosts(store, { limit: 10, offset: 0, ...filter })).map((row) => row.cost_usd);
    const spans = [{}, { from: at - 1, to: at + 2 * HOUR_MS }, { to: at + HOUR_MS + 1 }];
    for (const span of spans) {
      assert.deepEqual(await costs({ groupBy: "agent", ...span }), [total("abc"), total("d")]);
      assert.deepEqual(await costs({ groupBy: "model", ...span }), ["a", "b", "c", "d"].map(total));
      assert.deepEqual(await costs({ groupBy: "hour", ...span }), [total("bd"), total("ac")]);
      assert.deepEqual(await costs({ groupBy: "day", ...span }), [total("abcd")]);
      assert.deepEqual(await costs({ groupBy: "session", ...span }), [total("bd"), total("ac")]);
    }
  });

  test("groups a nano-USD apart are listed most expensive first", async (store) => {
    const costs = [1_999_999_999n, 2_000_000_001n, 2_000_000_000n];
    await store.write(recordCalls(costs.flatMap((costNanoUsd, index) => [
      modelCall({ callId: `${index}`, agentId: `a${index}`, costNanoUsd }),
      modelCall({ callId: `${index}+`, agentId: `a${index}`, model: "other", costNanoUsd: 999_999_999n }),
    ])));
    const rows = await listCosts(store, { groupBy: "agent", limit: 10, offset: 0 });
    assert.deepEqual(rows.map((row) => row.agent_id), ["a1", "a2", "a0"]);
    assert.deepEqual(rows.map((row) => row.cost_usd), [3, 2.999999999, 2.999999998]);
  });

  test("groups and runs are in order of their cost after adjustments that lower it", async (store) => {
    await store.write([
      ...recordCalls([
        modelCall({ callId: "a", agentId: "ann", runId: "run_a", costNanoUsd: 1_000_000_000n }),
        modelCall({ callId: "b", agentId: "bob", runId: "run_b", costNanoUsd: 900_000_000n }),
      ]),
      adjustCall("x", "a", { costNanoUsd: -400_000_000n }),
    ]);
    const costs = async (groupBy: Grouping) =>
      (await listCosts(store, { groupBy, sort: "cost", limit: 10, offset: 0 })).map(({ cost_usd }) =>
        cost_usd
      );
    for (let isRolledUp = false;; isRolledUp = true) {
      for (const groupBy of ["agent", "run"] as const) assert.deepEqual(await costs(groupBy), [0.9, 0.6]);
      if (isRolledUp) break;
      await store.write(rollUpTotals());
    }
  });

  test("a cost of zero is 0, an unknown one null, and both together a number", async (store) => {
    const costs = async (groupBy: Grouping) =>
      (await listCosts(store, { groupBy, limit: 10, offset: 0 })).map((
        row,
      ) => [row.model_calls, row.unpriced_calls, row.cost_usd]);
    assert.deepEqual(await costs("agent"), []);
    await store.write(recordCalls([modelCall({ callId: "a", costNanoUsd: null, runId: "r" })]));
    assert.deepEqual(await costs("agent"), [[1, 1, null]]);
    assert.equal((await readRunUsage(store, "r")).cost_usd, null);
    assert.equal((await readRunUsage(store, "none")).cost_usd, 0);
    await store.write(recordCalls([modelCall({ callId: "b", costNanoUsd: 0n })]));
    assert.deepEqual(await costs("agent"), [[2, 1, 0]]);
    await store.write(recordCalls([modelCall({ callId: "c", costNanoUsd: 1n })]));
    assert.deepEqual(await costs("day"), [[3, 1, 0.000000001]]);
  });

  test("a call that is reported later counts in the hour and the day in which it was made", async (store) => {
    const at = (text: string) => Date.parse(text);
    await store.write(
      recordCalls([modelCall({ callId: "now", at: at("2028-03-01T00:00:00.000Z"), sessionId: "s" })]),
    );
    await store.write(recordCalls([
      modelCall({ callId: "late", at: at("2028-02-29T23:59:59.999Z"), sessionId: "s", model: "old" }),
    ]));
    const rows = async (groupBy: Grouping) => await listCosts(store, { groupBy, limit: 10, offset: 0 });
    assert.deepEqual((await rows("day")).map((row) => row.day), ["2028-03-01", "2028-02-29"]);
    assert.deepEqual((await rows("hour")).map((row) => row.hour), [
      "2028-03-01T00:00:00.000Z",
      "2028-02-29T23:00:00.000Z",
    ]);
    // The latest call's model, not that of the call that was booked last.
    assert.equal((await rows("session"))[0]!.model, "echo");
  });

  test("a call is read from the ledger as it was booked", async (store) => {
    const calls = [
      modelCall({
        callId: "a",
        sessionId: "ses_1",
        runId: "run_1",
        step: 3,
        tools: ["calculator", "it's"],
        usage: usageOf({
          inputTokens: 9,
          cacheReadTokens: 3,
          cacheWriteTokens: 2,
          cacheWrite1hTokens: 1,
          outputTokens: 4,
          reasoningTokens: 1,
        }),
        costNanoUsd: 2n ** 53n + 1n,
        isEstimated: true,
        durationMs: 1.6,
      }),
      modelCall({
        callId: "b",
        sessionId: "ses_1",
        costNanoUsd: null,
        priceSource: "none",
        durationMs: null,
      }),
    ];
    await store.write(recordCalls(calls));
    const query = createQuery(store);
    const expected = calls.map(toCostEvent).map((event) => ({
      ...event,
      duration_ms: event.duration_ms && Math.round(event.duration_ms),
    }));
    assert.deepEqual(await listCalls(query, { sessionId: "ses_1", limit: 10 }), expected);
    assert.deepEqual(
      await listCalls(query, { sessionId: "ses_1", limit: 10, after: { at: calls[0]!.at, callId: "a" } }),
      expected.slice(1),
    );
  });

  property<[ModelCall[]]>(
    "a session's calls are listed in the order of their time, in pages",
    [anyCalls],
    async (store, calls) => {
      await record(store, [calls]);
      const query = createQuery(store);
      const expected = calls.filter((call) => call.sessionId === "ses_1")
        .sort((a, b) => a.at - b.at || (a.callId < b.callId ? -1 : 1)).map(toCostEvent);
      const listed = [];
      let after: { at: number; callId: string } | undefined;
      for (;;) {
        const page = await listCalls(query, { sessionId: "ses_1", limit: 3, after });
        listed.push(...page);
        if (page.length < 3) break;
        after = { at: Date.parse(page.at(-1)!.at), callId: page.at(-1)!.call_id };
      }
      assert.deepEqual(listed, expected);
    },
  );

  test("a thousand calls in one batch are a thousand rows", async (store) => {
    const calls = Array.from(
      { length: 1_000 },
      (_, i) => modelCall({ callId: `call_${i}`, costNanoUsd: BigInt(i) }),
    );
    await store.write(recordCalls(calls));
    const { rows } = await store.read({ sql: "SELECT count(*), sum(cost_nano_usd) FROM calls" });
    assert.deepEqual(rows[0], [1_000n, 499_500n]);
    assert.equal((await listCosts(store, { groupBy: "agent", limit: 1, offset: 0 }))[0]!.cost_usd, 0.0004995);
  });
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
