import assert from "node:assert/strict";
import { KnownBudgets } from "../../src/budgets/known/mod.ts";
import { createBudget } from "../../src/budgets/mod.ts";
import { type Admission, createBudgetGate, settleReservations } from "../../src/budgets/reservations/mod.ts";
import { approveTicket, denyTicket, listTickets } from "../../src/budgets/tickets/mod.ts";
import { fixedClock } from "../../src/kernel/clock.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { ALL_SEEING, recordCalls } from "../../src/ledger/mod.ts";
import { createLazyPriceBook } from "../../src/pricing/mod.ts";
import { createQuery, type Store } from "../../src/store/mod.ts";
import { type DatabaseKind, dialectKinds } from "../harness/databases.ts";
import { modelCall } from "../harness/model_calls.ts";
import { isThorough } from "../harness/thorough.ts";

/** Calls that wait for a person, over every kind of database. The clock stands at noon. */

const AT = "2026-11-01T12:00:00.000Z";
const CHANNELS = JSON.stringify([["ops", "webhook", 0]]);

type FixedClock = ReturnType<typeof fixedClock>;

/** Returns the ticket by which a call was refused. */
function ticketOf(admission: Admission) {
  assert.ok(!admission.go);
  return admission.refusals[0]!.ticket!;
}

/** One process: its gate, its alerts, and what people do through it. */
function openInstance(store: Store, clock: FixedClock, instanceId: string) {
  const ids = createIds(clock);
  const budgets = new KnownBudgets({ store, clock });
  const fired: string[] = [];
  const gate = createBudgetGate({
    ...{ store, clock, instanceId, newId: ids.next, known: budgets },
    notifier: { channels: CHANNELS, fired: (alertIds) => fired.push(...alertIds) },
    approvalTimeoutMs: 300_000,
  });
  const ctx = {
    ...{ store, query: createQuery(store), clock, ids, budgets, prices: createLazyPriceBook({}) },
    author: { actor: "code" as const },
  };
  return { gate, ctx, fired };
}

type Instance = ReturnType<typeof openInstance>;

function admit(
  { gate }: Instance,
  more: { keyId?: string; runId?: string; cost?: bigint; waitsLong?: boolean; signal?: AbortSignal } = {},
): Promise<Admission> {
  const { keyId = null, runId = null, cost = 10n, ...rest } = more;
  return gate.admit({
    ...{ agentId: "helper", sessionId: null, runId, keyId, budget: null },
    subjects: { model: "m", provider: "p", source: "gateway", tags: { team: "search" } },
    bound: () => ({ estimateNanoUsd: cost, isUnpriced: false, worst: { costNanoUsd: cost } }),
    ...rest,
  });
}

const tickets = ({ ctx }: Instance) => listTickets(ctx, { reader: { viewer: ALL_SEEING }, limit: 100 });

async function open({ name, create }: DatabaseKind) {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await create());
  const clock = fixedClock(AT);
  const stores = [await database.open()];
  if (name !== "memory") stores.push(await database.open());
  for (const store of stores) stack.defer(() => store.close());
  const instances = [0, 1].map((n) => openInstance(stores[n] ?? stores[0]!, clock, `inst_${n}`));
  /** Lets the waiting calls look, until all of these have an answer. */
  const settle = async <T>(calls: Promise<T>[], stepMs = 1_000): Promise<T[]> => {
    let isDone = false;
    const all = Promise.all(calls).finally(() => isDone = true);
    all.catch(() => {}); // it is awaited later
    while (!isDone) {
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
      if (!isDone) clock.advance(stepMs);
    }
    return await all;
  };
  /** Waits until there is a ticket. */
  const asked = async (count = 1) => {
    for (;;) {
      const found = await tickets(instances[0]!);
      if (found.length >= count) return found;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  };
  const add = (mode: "stop" | "strict" = "stop", more: object = {}) =>
    createBudget(instances[0]!.ctx, {
      ...{ name: "Day", limit_usd: 0.000000100, per: "day", action: "ask", mode, ...more },
    });
  const spend = (costNanoUsd: bigint) =>
    stores[0]!.write(
      recordCalls([modelCall({ callId: crypto.randomUUID(), at: clock.now(), costNanoUsd })]),
    );
  const read = async (sql: string) => (await stores[0]!.read({ sql })).rows;
  return {
    ...{ clock, instances, settle, asked, add, spend, read },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

for (const kind of dialectKinds()) {
  const { name, ignore } = kind;
  const isRemote = name === "sqld" || name === "postgres"; // an answer comes some turns later, so the clock goes on
  const test = (says: string, fn: (world: Awaited<ReturnType<typeof open>>) => Promise<void>) =>
    Deno.test({
      name: `${name}: ${says}`,
      ignore,
      async fn() {
        await using world = await open(kind);
        await fn(world);
      },
    });

  test("many calls of two instances wait for one ticket, with one notification, and go on once it is approved", async (t) => {
    const [a, b] = t.instances as [Instance, Instance];
    await t.add();
    await t.spend(100n);
    const calls = Array.from(
      { length: isThorough ? 100 : 30 },
      (_, n) => admit(n % 2 ? a : b, { waitsLong: true }),
    );
    const [ticket] = await t.asked();
    assert.deepEqual([ticket!.state, ticket!.asked_usd, ticket!.model], ["waiting", 0.00000001, "m"]);
    await approveTicket(b.ctx, ticket!.ticket_id, { extra_usd: 0.001, reason: "go on" }, {
      viewer: ALL_SEEING,
    });
    const answers = await t.settle(calls);
    assert.ok(answers.every(({ go }) => go));
    assert.deepEqual((await tickets(a)).map(({ state }) => state), ["approved"]);
    assert.equal(a.fired.length + b.fired.length, 1);
    assert.deepEqual(await t.read("SELECT count(*) FROM deliveries"), [[1n]]);
    assert.deepEqual(await t.read("SELECT action FROM audit_entries ORDER BY position"), [
      ["created"],
      ["approved"],
    ]);
  });

  test("a call without an answer is refused after 30 s, one of a run after its timeout, with the ticket", async (t) => {
    const [a] = t.instances as [Instance];
    await t.add();
    await t.spend(100n);
    const startedAt = t.clock.now();
    const [first] = await t.settle([admit(a)]);
    assert.equal(ticketOf(first!).state, "waiting");
    const waitedMs = t.clock.now() - startedAt;
    assert.ok(waitedMs >= 30_000 && (waitedMs <= 32_000 || isRemote), String(waitedMs));
    ticketOf((await t.settle([admit(a, { waitsLong: true })], 5_000))[0]!);
    assert.ok(t.clock.now() - startedAt >= 330_000);
    assert.equal((await tickets(a)).length, 1, "it has joined the ticket that waits");
  });

  test("a denial refuses every call that waits, and the budget asks again only after 15 minutes", async (t) => {
    const [a, b] = t.instances as [Instance, Instance];
    await t.add();
    await t.spend(100n);
    const calls = [admit(a, { waitsLong: true }), admit(b, { waitsLong: true })];
    const [ticket] = await t.asked();
    await denyTicket(a.ctx, ticket!.ticket_id, { reason: "no" }, { viewer: ALL_SEEING });
    for (const each of await t.settle(calls)) assert.equal(ticketOf(each).state, "denied");
    const [again] = await t.settle([admit(b)]);
    assert.equal(ticketOf(again!).ticketId, ticket!.ticket_id);
    t.clock.advance(900_000);
    const last = admit(b);
    assert.equal((await t.asked(2)).length, 2);
    await t.settle([last]);
  });

  test("a ticket that expires is a no, also after its server has died: the next call asks anew", async (t) => {
    const [died, a] = t.instances as [Instance, Instance];
    await t.add();
    await t.spend(100n);
    const dying = new AbortController();
    const call = admit(died, { waitsLong: true, signal: dying.signal });
    await t.asked();
    dying.abort(new Error("died"));
    await assert.rejects(t.settle([call]), /died/);
    t.clock.advance(3_600_000);
    const [expired] = await tickets(a);
    assert.equal(expired!.state, "expired");
    await assert.rejects(
      approveTicket(a.ctx, expired!.ticket_id, { reason: "late" }, { viewer: ALL_SEEING }),
      /Cannot approve ticket tkt_\w+: it expired at/,
    );
    assert.deepEqual(await t.read("SELECT count(*) FROM budget_raises"), [[0n]]);
    const next = admit(a);
    await t.asked(2);
    await t.settle([next]);
    assert.deepEqual(await t.read("SELECT state FROM budget_tickets ORDER BY asked_at"), [["expired"], [
      "waiting",
    ]]);
  });

  test("of two approvals at once one counts, and the other says who has answered", async (t) => {
    const [a, b] = t.instances as [Instance, Instance];
    await t.add();
    await t.spend(100n);
    const call = admit(a, { waitsLong: true });
    const [ticket] = await t.asked();
    const answers = await Promise.allSettled([a, b].map(({ ctx }, n) =>
      approveTicket(
        { ...ctx, author: { actor: "key", name: `person ${n}` } },
        ticket!.ticket_id,
        { reason: "both" },
        { viewer: ALL_SEEING },
      )
    ));
    const refused = answers.filter((each) => each.status === "rejected");
    assert.equal(refused.length, 1);
    assert.match(String(refused[0]!.reason), /it was approved by person [01] at/);
    assert.deepEqual(await t.read("SELECT count(*) FROM budget_raises"), [[1n]]);
    await t.settle([call]);
  });

  test("a strict budget decides anew after an approval: what does not fit asks again, and nothing overshoots", async (t) => {
    const [a, b] = t.instances as [Instance, Instance];
    await t.add("strict");
    await t.spend(95n);
    const calls = [admit(a, { waitsLong: true }), admit(b, { waitsLong: true })];
    const [first] = await t.asked();
    assert.equal(first!.asked_usd, 0.000000005);
    await approveTicket(a.ctx, first!.ticket_id, { reason: "one" }, { viewer: ALL_SEEING });
    const done = Promise.race(calls.map((call, n) => call.then((admission) => ({ admission, n }))));
    const [one] = await t.settle([done]);
    const { admission, n } = one!;
    assert.ok(admission.go);
    const ceiling = 100n + 5n;
    const reserved = (await t.read("SELECT sum(worst_nano_usd) FROM reservations WHERE scope = ''"))[0]![0];
    assert.ok(95n + BigInt(reserved as bigint) <= ceiling);
    // The other one waits for room; once the first has cost all that was reserved, it asks.
    await a.ctx.store.write([
      ...recordCalls([modelCall({ callId: "made", at: t.clock.now(), costNanoUsd: 10n })]),
      ...settleReservations([admission.grant!]),
    ]);
    await t.settle([t.asked(2)]);
    const [second] = await tickets(a);
    assert.deepEqual([second!.state, second!.asked_usd], ["waiting", 0.00000001]);
    await denyTicket(a.ctx, second!.ticket_id, { reason: "no" }, { viewer: ALL_SEEING });
    const [other] = await t.settle([calls[1 - n]!]);
    assert.equal(ticketOf(other!).state, "denied");
  });

  test("a caller that leaves while it waits holds nothing, and its ticket stays for others", async (t) => {
    const [a] = t.instances as [Instance];
    await t.add();
    await t.spend(100n);
    const leaving = new AbortController();
    const call = admit(a, { waitsLong: true, signal: leaving.signal });
    await t.asked();
    leaving.abort(new Error("gone"));
    await assert.rejects(t.settle([call]), /gone/);
    assert.deepEqual(await t.read("SELECT count(*) FROM reservations"), [[0n]]);
    assert.equal((await tickets(a))[0]!.state, "waiting");
  });

  test("each counter of a budget has a ticket of its own, and its approval raises that counter alone", async (t) => {
    const [a, b] = t.instances as [Instance, Instance];
    await t.add("stop", { limit_usd: 0, each: "tag:team" });
    const call = admit(a, { waitsLong: true });
    const [ticket] = await t.asked();
    assert.deepEqual(ticket!.counter, { kind: "tag:team", id: "search" });
    await approveTicket(b.ctx, ticket!.ticket_id, { extra_usd: 1, reason: "go on" }, {
      viewer: ALL_SEEING,
    });
    const [answer] = await t.settle([call]);
    assert.ok(answer!.go);
    const [[scope]] = await t.read("SELECT scope FROM budget_raises") as [[string]];
    assert.match(scope, /search/);
  });

  test("a reservation for a call elsewhere is refused with a ticket, and does not wait", async (t) => {
    const [a] = t.instances as [Instance];
    await t.add();
    await t.spend(100n);
    const answer = await a.gate.admitElsewhere({
      ...{ agentId: "helper", sessionId: null, keyId: null, subjects: {} },
      ...{ estimateNanoUsd: 10n, worstNanoUsd: null, ttlMs: 1_000 },
    });
    assert.ok(!answer.go);
    assert.equal(answer.refusals[0]!.ticket!.state, "waiting");
    assert.equal((await tickets(a))[0]!.model, null);
  });
}
