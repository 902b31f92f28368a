import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { bookLooseCalls, rollUp, sightCalls, type Sighting, type SightingOrigin } from "../src/calls/mod.ts";
import { listCalls, listCosts } from "../src/ledger/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import { toObjects } from "../src/store/mod.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { checkTotals } from "./harness/check_books.ts";
import { dialectKinds } from "./harness/databases.ts";
import { cases } from "./harness/thorough.ts";
import { AT, gatewayCall, LOG, sighting } from "./harness/sightings.ts";

/** An arrival at the ledger. */
type Arrival = (ctx: TestBooking) => Promise<unknown>;

const seen = (origin: Partial<SightingOrigin>, more: Partial<Sighting>): Arrival => (ctx) =>
  sightCalls(ctx, { ...LOG, ...origin }, [sighting(more)]);

const PROVISIONAL = {
  quality: "provisional" as const,
  usage: usageOf({ inputTokens: 1_000, outputTokens: 5 }),
  branch: "early",
};

/** Witnesses of one call with the provider's id of its answer. */
const WITH_ID: Record<string, Arrival> = {
  gateway: (ctx) => bookLooseCalls(ctx, [gatewayCall()]),
  original: seen({}, {}),
  copy: seen({}, { session: "ses_b", isCopy: true, at: AT + 90_000, branch: "fork" }),
  provisional: seen({}, PROVISIONAL),
  machine: seen({ machine: "desktop" }, {}),
  plan: seen({ machine: "notebook" }, { isPlan: true }),
  planOfCopy: seen({}, { isPlan: true, session: "ses_b", isCopy: true, at: AT + 90_000 }),
  planOfBeginning: seen({}, { ...PROVISIONAL, isPlan: true }),
  unsureOfProvider: seen({ machine: "tower" }, { provider: undefined, session: "ses_b", isCopy: true }),
  span: seen({ source: "otlp", name: "exporter" }, {
    ref: "trace:span",
    requestId: undefined,
    folder: undefined,
    branch: undefined,
    tags: { team: "search" },
  }),
  spanWithoutParent: seen({ source: "otlp", name: "exporter", agentId: "service" }, {
    ref: "trace:span",
    requestId: undefined,
    folder: undefined,
    branch: undefined,
    session: undefined,
    known: 0,
  }),
  spanByRequest: seen({ source: "otlp", name: "other" }, {
    ref: "trace:2",
    responseId: undefined,
    tags: { host: "x" },
  }),
};

/** Witnesses of one call of an agent that knows no id of the provider, and of its telemetry. */
const WITHOUT_ID: Record<string, Arrival> = {
  telemetry: seen({ source: "otlp", name: "gemini" }, {
    responseId: undefined,
    requestId: undefined,
    ref: "ses_a:t",
    at: AT + 300,
  }),
  gateway: (ctx) => bookLooseCalls(ctx, [gatewayCall()]),
  original: seen({ name: "gemini" }, { responseId: undefined, requestId: undefined, ref: "ses_a:1" }),
  provisional: seen({ name: "gemini" }, {
    ...PROVISIONAL,
    responseId: undefined,
    requestId: undefined,
    ref: "ses_a:1",
  }),
  machine: seen({ name: "gemini", machine: "desktop" }, {
    responseId: undefined,
    requestId: undefined,
    ref: "ses_a:1",
  }),
  plan: seen({ name: "gemini" }, {
    responseId: undefined,
    requestId: undefined,
    ref: "ses_a:1",
    isPlan: true,
  }),
};

const GROUPS = ["agent", "session", "model", "day", "key", "tag:project", "tag:branch", "tag:team"] as const;

/** All that one can see of the ledger. */
async function stateOf(ctx: TestBooking) {
  const sessions = await Promise.all(
    ["ses_a", "ses_b"].map((sessionId) => listCalls(ctx.query, { sessionId, limit: 10 })),
  );
  const costs = await Promise.all(
    GROUPS.map((groupBy) => listCosts(ctx.store, { groupBy, limit: 10, offset: 0 })),
  );
  const counters = toObjects(
    await ctx.store.read({
      sql: `SELECT kind, scope, start, whole_usd, rest_nano_usd FROM spend_counters
    WHERE whole_usd <> 0 OR rest_nano_usd <> 0 ORDER BY kind, scope, start`,
    }),
  );
  return { sessions, costs: costs.map((rows) => rows.map(withoutFirst)), counters };
}

/** A session keeps the times of calls that were taken back, and the agent of the first one. */
const withoutFirst = ({ first_at: _f, last_at: _l, agent_id, ...row }: Record<string, unknown>) =>
  row.session_id === undefined ? { ...row, agent_id } : row;

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length <= 1
    ? [[...items]]
    : items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));

for (const kind of dialectKinds()) {
  const arrive = async (names: readonly string[], from: Record<string, Arrival>, rollsUp: boolean) => {
    await using database = await kind.create();
    const ctx = await createBooking(await database.open());
    for (const name of names) {
      await from[name]!(ctx);
      if (rollsUp) await rollUp(ctx);
    }
    for (const name of names) if (name !== "gateway") await from[name]!(ctx); // nothing new
    await rollUp(ctx);
    await checkTotals(ctx.store);
    const state = await stateOf(ctx);
    assert.equal(state.sessions.flat().length, 1, "one call is visible");
    await ctx.rollUps.ended();
    return state;
  };

  const isQuick = kind.name === "memory";
  for (const [what, witnesses] of Object.entries({ "with an id": WITH_ID, "without ids": WITHOUT_ID })) {
    Deno.test({
      name: `witnesses of one call ${what} lead to the same books in any order (${kind.name})`,
      ignore: kind.ignore,
      async fn() {
        // The original has both ids, by which the others are one call.
        const others = Object.keys(witnesses).filter((name) => name !== "original");
        const anyCase = fc.tuple(
          fc.subarray(others, { minLength: 1, maxLength: Math.min(4, others.length) }),
          fc.nat(),
          fc.boolean(),
        ).map(([some, ...rest]) => [["original", ...some], ...rest] as const);
        await fc.assert(
          fc.asyncProperty(anyCase, async ([names, which, rollsUp]) => {
            const orders = permutations(names);
            const other = orders[which % orders.length]!;
            assert.deepEqual(await arrive(other, witnesses, rollsUp), await arrive(names, witnesses, false));
          }),
          { numRuns: cases(isQuick ? 20 : 2) },
        );
      },
    });
  }
}
