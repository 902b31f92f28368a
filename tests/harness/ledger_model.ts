import { COST_SORTS, GROUPINGS, SPLITS } from "../../src/contract/values.ts";
import fc from "#dev/fast_check.ts";
import { DAY_MS, HOUR_MS, toIso } from "../../src/kernel/clock.ts";
import {
  type CostFilter,
  type CostRow,
  costUsd,
  type ModelCall,
  recordCalls,
  rollUpTotals,
  toCostEvent,
} from "../../src/ledger/mod.ts";
import { toUsd } from "../../src/kernel/money.ts";
import type { Store } from "../../src/store/mod.ts";
import { anyTime } from "./model_calls.ts";

const COUNTED = [
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
];

/** Returns the totals of some calls in wire form, by plain addition. */
export function add(calls: readonly ModelCall[]) {
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
  source: (call) => ({ source: call.source ?? null }),
  hour: (call) => ({ hour: toIso(floor(call.at, HOUR_MS)) }),
  day: (call) => ({ day: toIso(call.at).slice(0, 10) }),
  // 1970-01-01 was a Thursday.
  week: (call) => ({ week: toIso(floor(call.at + 3 * DAY_MS, 7 * DAY_MS) - 3 * DAY_MS).slice(0, 10) }),
  month: (call) => ({ month: `${toIso(call.at).slice(0, 7)}-01` }),
  session: (call) => call.sessionId === null ? null : { session_id: call.sessionId },
  run: (call) => call.runId === null ? null : { run_id: call.runId },
};

/** Returns the calls that a filter keeps. */
export function keep(calls: readonly ModelCall[], filter: Filter): ModelCall[] {
  return calls.filter((call) =>
    call.at >= (filter.from ?? -Infinity) && call.at < (filter.to ?? Infinity) &&
    (filter.agentId === undefined || call.agentId === filter.agentId) &&
    Object.entries(filter.tags ?? {}).every(([key, value]) => call.tags?.[key] === value) &&
    (filter.provider === undefined || call.provider === filter.provider) &&
    (filter.keyId === undefined || call.keyId === filter.keyId) &&
    (filter.model === undefined || [call.model, `${call.provider}:${call.model}`].includes(filter.model))
  );
}

/** A filter of costs, unpaged. */
export type Filter = Omit<CostFilter, "limit" | "offset">;

/** Returns the first call of a group in time; of several at one time, the one that was booked first. */
export function firstCall(members: readonly ModelCall[]): ModelCall {
  return members.reduce((first, call) => call.at < first.at ? call : first);
}

/** Returns the latest call of a group in time; of several at one time, the one that was booked last. */
export function newestCall(members: readonly ModelCall[]): ModelCall {
  return members.reduce((newest, call) => call.at >= newest.at ? call : newest);
}

interface Group {
  key: Partial<CostRow>;
  calls: ModelCall[];
  previous: ModelCall[];
}

const byText = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;
const byNumber = (a: number | bigint, b: number | bigint) => a < b ? -1 : a > b ? 1 : 0;
/** Returns whether a filter groups by session or run. */
export const isEntity = ({ groupBy }: Filter) => groupBy === "session" || groupBy === "run";
const isTag = (group: string | undefined) => group !== undefined && group.startsWith("tag:");
const isByDay = ({ groupBy }: Filter) => ["hour", "day", "week", "month"].includes(groupBy);

/** Returns the groups expected from `listCosts`, in their order, by plain addition over the calls. */
export function group(calls: readonly ModelCall[], filter: Filter): Group[] {
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
    const name = {
      session: "session_id",
      run: "run_id",
      agent: "agent_id",
      hour: "hour",
      day: "day",
      week: "week",
      month: "month",
    };
    if (filter.groupBy === "model") return `${key.provider}\0${key.model}`;
    if (filter.groupBy === "provider") return key.provider!;
    if (filter.groupBy === "key") return key.key_id ?? "";
    if (filter.groupBy === "source") return key.source ?? "";
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

type Sums = {
  nano: bigint;
  wire: ReturnType<typeof add>["wire"] & { estimated_calls: number; lower_bound_calls: number };
};

/** Returns the sums of a group in wire form; with the comparison, if there is one. */
export function sumsOf(
  { calls, previous }: Pick<Group, "calls" | "previous">,
  { compare }: Pick<Filter, "compare">,
) {
  const [own, other] = [calls, previous].map((members) => {
    const { estimated, wire, nano } = add(members);
    const lower_bound_calls = members.filter(({ source }) => source === "log" || source === "otlp").length;
    return { nano, wire: { ...wire, estimated_calls: estimated, lower_bound_calls } };
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
export async function record(
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

/** After which bookings totals are rolled up, in turn. */
export const anyRollUps = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 });

/** Splits calls into batches of the given sizes. */
export function cut(calls: readonly ModelCall[], sizes: readonly number[]): ModelCall[][] {
  const batches: ModelCall[][] = [];
  let start = 0;
  for (let i = 0; start < calls.length; i++) {
    const size = sizes[i % sizes.length]!;
    batches.push(calls.slice(start, start + size));
    start += size;
  }
  return batches;
}

/** The sizes of batches, in turn. */
export const anySizes = fc.array(fc.constantFrom(1, 1, 2, 5, 25, 26, 40), { minLength: 1, maxLength: 6 });
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
export const anyFilter = fc.record({
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
