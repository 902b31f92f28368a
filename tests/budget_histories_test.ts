import fc from "#dev/fast_check.ts";
import { calendarText } from "../src/contract/windows.ts";
import { UTC, WEEK_DAYS } from "../src/contract/calendars/zones.ts";
import { readEnvironment } from "../src/config/mod.ts";
import { BudgetHistory } from "./harness/budget_history.ts";
import type { PlannedCall } from "./harness/planned_call.ts";
import type { ModelScopes } from "./harness/budget_model.ts";
import { openInstances } from "./harness/budget_world.ts";
import { kinds, kindsInTime } from "./harness/budget_settings.ts";

/**
 * Random histories of several instances on one database, each step compared with a model without SQL. PURSER_BUDGET_HISTORIES
 * sets their number, PURSER_BUDGET_ON the kind of database of all, PURSER_BUDGET_SEED repeats a run.
 */

const { PURSER_BUDGET_HISTORIES = "14", PURSER_BUDGET_SEED, PURSER_BUDGET_PATH, PURSER_BUDGET_ON } =
  readEnvironment();

/** Half a minute before a Monday that begins a month. */
const START = Date.parse("2027-01-31T23:59:30.000Z");
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const OPUS = { model: "claude-opus-5", provider: "anthropic" };
const HAIKU = { model: "claude-haiku-5", provider: "anthropic" };
const LUNA = { model: "gpt-6-luna", provider: "openai" };
const ACME = { customer: "acme" };
const SEARCH = { customer: "acme", team: "a b" };
const CALLERS: ModelScopes[] = [
  {
    ...{ agentId: "ann", sessionId: "ses_1", keyId: null, runId: "run_1" },
    subjects: { ...OPUS, source: "run", billing: "billed", tags: ACME },
  },
  {
    ...{ agentId: "bob", sessionId: "ses_2", rootSessionId: "ses_1", keyId: "key_1", runId: "run_2" },
    subjects: { ...LUNA, source: "run", billing: "billed", tags: SEARCH },
  },
  {
    ...{ agentId: "ann", sessionId: "ses_1", keyId: "key_1", runId: "run_3" },
    subjects: { ...HAIKU, source: "run", billing: "plan", tags: { customer: "100% globex" } },
  },
  {
    agentId: "cleo",
    sessionId: null,
    keyId: "key_2",
    runId: "run_4",
    subjects: { ...OPUS, source: "run", billing: "billed", tags: SEARCH },
  },
  {
    agentId: "bob",
    sessionId: "ses_3",
    keyId: null,
    runId: "run_outside",
    subjects: { ...LUNA, source: "run", billing: "billed" },
  },
  {
    ...{ agentId: "cleo", sessionId: "ses_3", rootSessionId: "ses_1", keyId: "key_2", runId: null },
    subjects: { ...OPUS, source: "gateway", billing: "plan", tags: ACME },
  },
];

const limit = fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 40, max: 400 }));
const mode = fc.constantFrom("stop" as const, "strict" as const, "strict" as const);
const named = fc.constantFrom("ann", "bob", "key key_1", "key key_2", "session ses_1");
const calendar = fc.constantFrom(
  "hour" as const,
  "day" as const,
  "week" as const,
  "month" as const,
  "quarter" as const,
  "30d" as const,
  "lifetime" as const,
);
const zone = fc.oneof(
  { weight: 3, arbitrary: fc.constant(UTC) },
  {
    weight: 2,
    arbitrary: fc.record({
      timeZone: fc.constantFrom(
        ...[
          "UTC",
          "Europe/Berlin",
          "America/New_York",
          "Asia/Kolkata",
          "Asia/Kathmandu",
          "Pacific/Kiritimati",
        ],
      ),
      weekStart: fc.constantFrom(...WEEK_DAYS),
      monthStartDay: fc.constantFrom(1, 1, 2, 15, 28),
    }),
  },
);

// A budget names at most one of agent, session and key; `each` goes with an agent or key only for sessions.
const ofSubjects = fc.record({
  per: calendar,
  of: fc.constantFrom(
    { scope: "by tag:customer acme" },
    { scope: "by tag:customer 100%25%20globex" },
    { scope: "by model~claude-*" },
    { scope: "by model gpt-6-luna" },
    { scope: "by source gateway" },
    { scope: "by key,provider key_1 anthropic" },
    { scope: "by provider,tag:customer,tag:team openai acme a%20b" },
    { scope: "by provider,tag:customer anthropic acme" },
    { scope: "by plan" },
    { scope: "by billed" },
    { scope: "by billed,key key_1" },
    { scope: "by plan,tag:customer acme" },
    { scope: "by plan", each: "key" as const, shape: "plan,key" },
    { scope: "by billed", each: "tag:customer" as const, shape: "billed,tag:customer" },
    { scope: "", each: "tag:customer" as const, shape: "tag:customer" },
    { scope: "", each: "model" as const, shape: "model" },
    { scope: "by provider anthropic", each: "tag:customer" as const, shape: "provider,tag:customer" },
    { scope: "by model~claude-*", each: "key" as const, shape: "key,model~claude-*" },
    { scope: "ann", each: "model" as const, shape: "agent,model" },
  ),
}).map(({ per, of }) => ({ per, each: null, shape: null, ...of }));
const ofTrees = fc.constantFrom(
  { scope: "", shape: "tree" },
  { scope: "by tree ses_1", shape: null },
  { scope: "ann", shape: "agent,tree" },
  { scope: "key key_1", shape: "key,tree" },
  { scope: "by tag:customer acme", shape: "tree,tag:customer" },
).map((of) => ({ per: "tree" as const, each: null, ...of }));
const anyCounted = fc.oneof(
  ofSubjects,
  ofTrees,
  fc.constant({
    ...{ per: "session" as const, scope: "by tag:customer acme", each: null, shape: "session,tag:customer" },
  }),
  fc.record({
    per: calendar,
    scope: fc.constant(""),
    each: fc.constantFrom(null, "agent" as const, "session" as const, "key" as const),
  }),
  fc.record({ per: calendar, scope: named, each: fc.constant(null) }),
  fc.record({
    per: calendar,
    scope: fc.constantFrom("ann", "key key_1"),
    each: fc.constant("session" as const),
  }),
  fc.record({
    per: fc.constant("session" as const),
    scope: fc.oneof(fc.constant(""), named),
    each: fc.constant(null),
  }),
  // Per run only over agents: the runs below a run of a session or a key count in its budget, which has no say on them.
  fc.record({
    per: fc.constant("run" as const),
    scope: fc.constantFrom("", "", "ann", "bob"),
    each: fc.constant(null),
  }),
);
const counted = anyCounted.map((budget) => ({ shape: null, ...budget }));
const budget = fc.record({
  counted,
  zone,
  limit,
  mode,
  action: fc.constantFrom("refuse" as const, "refuse" as const, "refuse" as const, "watch" as const),
  warnAt: fc.constantFrom([], [1], [0.8, 1], [0.25, 0.5, 0.999]),
  countsFrom: fc.constantFrom(
    null,
    null,
    START - 30 * 1_000 - 23 * HOUR - 59 * MINUTE,
    Date.parse("2027-02-01T00:00:00.000Z"),
  ),
  allowUnpriced: fc.boolean(),
  enabled: fc.constantFrom(true, true, true, false),
});
const runBudget = fc.option(fc.record({ limit, mode }), { nil: null, freq: 2 });
const planned: fc.Arbitrary<PlannedCall> = fc.record({
  caller: fc.nat({ max: CALLERS.length - 1 }),
  estimate: fc.integer({ min: 0, max: 25 }),
  input: fc.integer({ min: 0, max: 20 }),
  output: fc.integer({ min: 1, max: 20 }),
  kind: fc.constantFrom("priced", "priced", "priced", "priced", "priced", "free", "unbounded", "unpriced"),
});

const instance = fc.nat({ max: 2 });
const step = <Kind extends string, T>(kind: Kind, weight: number, fields: fc.Arbitrary<T>) => ({
  weight,
  arbitrary: fields.map((value) => ({ kind, ...value })),
});
const steps = fc.oneof(
  step("call" as const, 10, fc.record({ instance, call: planned })),
  step(
    "burst" as const,
    3,
    fc.record({ calls: fc.array(fc.record({ instance, call: planned }), { minLength: 2, maxLength: 6 }) }),
  ),
  step(
    "end" as const,
    7,
    fc.record({
      which: fc.nat({ max: 20 }),
      fate: fc.constantFrom(
        "book" as const,
        "book" as const,
        "book" as const,
        "fail" as const,
        "lose" as const,
        "die" as const,
        "hold" as const,
        "spool" as const,
      ),
      share: fc.constantFrom(0, 1, 50, 99, 100, 100),
    }),
  ),
  step(
    "loop" as const,
    3,
    fc.record({
      instance,
      call: planned,
      calls: fc.integer({ min: 2, max: 5 }),
      share: fc.constantFrom(0, 1, 50, 100),
    }),
  ),
  step("elsewhere" as const, 2, fc.record({ instance, call: planned })),
  step(
    "report" as const,
    3,
    fc.record({
      instance,
      caller: fc.nat({ max: CALLERS.length - 1 }),
      cost: fc.integer({ min: 0, max: 30 }),
      lateMs: fc.constantFrom(
        0,
        0,
        1,
        30_000,
        HOUR - 1,
        HOUR,
        HOUR + 1,
        DAY,
        8 * DAY,
        -1,
        -5 * MINUTE + 10_000,
      ),
      settles: fc.option(fc.nat({ max: 5 }), { nil: null }),
    }),
  ),
  step(
    "clock" as const,
    4,
    fc.record({
      instance: fc.option(instance, { nil: null }),
      byMs: fc.constantFrom(
        1,
        999,
        29_999,
        30_000,
        30_001,
        MINUTE,
        HOUR - 1,
        HOUR,
        HOUR - 30_001,
        DAY,
        6 * DAY,
        28 * DAY,
        -1,
        -31_000,
        -HOUR,
        -DAY,
      ),
    }),
  ),
  step(
    "raise" as const,
    1,
    fc.record({
      budget: fc.nat({ max: 9 }),
      extra: fc.integer({ min: 1, max: 60 }),
      forMs: fc.constantFrom(null, 1, 1_000, HOUR, DAY),
      counter: fc.constantFrom(
        ...[null, null, null, "ann", "key key_1", "session ses_1", "run run_1", "by tag:customer acme"],
        ...["by provider,tag:customer anthropic acme", "by model claude-opus-5", "by tree ses_1"],
      ),
    }),
  ),
  step("limit" as const, 1, fc.record({ budget: fc.nat({ max: 9 }), limit })),
  step("enabled" as const, 1, fc.record({ budget: fc.nat({ max: 9 }), enabled: fc.boolean() })),
  step("add" as const, 1, fc.record({ budget })),
  step("rollUp" as const, 2, fc.record({ instance })),
  step("sweep" as const, 1, fc.record({ instance })),
);
type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never;

const history = fc.record({
  unit: fc.constantFrom(1n, 1n, 1_000_000_007n),
  on: fc.oneof(
    { weight: 50, arbitrary: fc.constant("memory") },
    { weight: 5, arbitrary: fc.constant("file") },
    ...kindsInTime.filter(({ name, ignore }) => (name === "sqld" || name === "postgres") && !ignore)
      .map(({ name }) => ({ weight: 2, arbitrary: fc.constant(name) })),
  ),
  offsets: fc.array(fc.constantFrom(0, 0, 1, -1, 700, 29_999, 30_000, -HOUR, DAY), {
    minLength: 1,
    maxLength: 3,
  }),
  areStop: fc.boolean(),
  budgets: fc.array(budget, { minLength: 0, maxLength: 5 }),
  runs: fc.tuple(runBudget, runBudget, runBudget, runBudget),
  steps: fc.array(steps, { minLength: 5, maxLength: 40, size: "max" }),
});

async function carryOut(made: BudgetHistory, step: Step): Promise<void> {
  switch (step.kind) {
    case "call":
      return await made.call(step.instance, step.call);
    case "burst":
      return await made.burst(step.calls);
    case "end":
      return await made.end(step.which, step.fate, step.share);
    case "loop":
      for (let calls = 0; calls < step.calls; calls++) {
        await made.call(step.instance, step.call);
        await made.end(-1, "book", step.share);
      }
      return;
    case "elsewhere":
      return await made.elsewhere(step.instance, step.call);
    case "report":
      return await made.report(step.instance, step.caller, step.cost, step.lateMs, step.settles);
    case "clock":
      return await made.setClocks(step.byMs, step.instance);
    case "raise":
      return await made.raise(step.budget, step.extra, step.forMs, step.counter);
    case "limit":
      return await made.setLimit(step.budget, step.limit);
    case "enabled":
      return await made.setEnabled(step.budget, step.enabled);
    case "add":
      return await addBudget(made, step.budget);
    case "rollUp":
      return await made.rollUp(step.instance);
    case "sweep":
      return await made.sweep(step.instance);
  }
}

type AnyBudget = typeof budget extends fc.Arbitrary<infer T> ? T : never;

async function addBudget(
  made: BudgetHistory,
  { counted, zone, limit, countsFrom, ...more }: AnyBudget,
): Promise<void> {
  const isLifetime = counted.per === "lifetime";
  await made.addBudget({
    ...counted,
    ...more,
    calendar: calendarText(counted.per, zone),
    limit: BigInt(limit) * made.unit,
    countsFrom: isLifetime ? countsFrom : null,
  });
}

const PARENTS = [undefined, "run_1", "run_2", undefined];

Deno.test("whatever happens, budgets decide as a model without SQL, and a strict one is never overshot", async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ unit, on, offsets, areStop, budgets, runs, steps }) => {
      const where = PURSER_BUDGET_ON ?? on;
      await using database = await kinds.find(({ name }) => name === where)!.create();
      const stores = [];
      for (let i = 0; i < (where === "memory" ? 1 : offsets.length); i++) stores.push(await database.open());
      const made = new BudgetHistory(await openInstances(stores, START, offsets), CALLERS, unit);
      for (const [index, own] of runs.entries()) {
        const mode = areStop ? "stop" as const : own?.mode ?? "stop";
        const limits = own && { limit: BigInt(own.limit) * unit, mode, allowUnpriced: false };
        await made.addRun(`run_${index + 1}`, CALLERS[index]!.agentId, PARENTS[index], limits);
      }
      for (const each of budgets) await addBudget(made, areStop ? { ...each, mode: "stop" } : each);
      for (const each of steps) await carryOut(made, each);
      await made.close();
    }),
    {
      numRuns: Number(PURSER_BUDGET_HISTORIES),
      ...(PURSER_BUDGET_SEED !== undefined && { seed: Number(PURSER_BUDGET_SEED) }),
      ...(PURSER_BUDGET_PATH !== undefined && { path: PURSER_BUDGET_PATH, endOnFailure: true }),
    },
  );
});
