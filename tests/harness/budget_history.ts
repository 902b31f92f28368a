/** Carries out the steps of a random history of budgets, and compares each with the model. */
import assert from "node:assert/strict";
import { bookLooseCalls, reportCalls } from "../../src/calls/mod.ts";
import { payByPlan } from "../../src/calls/make_call.ts";
import type { Refusal } from "../../src/budgets/mod.ts";
import type { Grant } from "../../src/budgets/reservations/mod.ts";
import { toUsd } from "../../src/kernel/money.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import {
  type BudgetModel,
  type ModelRequest,
  type ModelScopes,
  type ModelStanding,
  nameOf,
} from "./budget_model.ts";
import { BudgetWorld, type Outcome } from "./budget_world.ts";
import { modelCall } from "./model_calls.ts";
import { type PlannedCall, requestOf } from "./planned_call.ts";

interface InFlight {
  instance: number;
  id: string | null;
  scopes: ModelScopes;
  at: number;
  grant?: Grant;
  /** The most that it may cost, if a strict budget counts it. */
  worst: bigint | null;
  estimate: bigint;
  isUnpriced: boolean;
}

export class BudgetHistory extends BudgetWorld {
  readonly #inFlight: InFlight[] = [];
  readonly #elsewhere: { id: string; scopes: ModelScopes; at: number; worst: bigint | null }[] = [];

  /** Records a call that was let in, and checks that no strict budget is overshot by it. */
  #letIn(
    instance: number,
    scopes: ModelScopes,
    request: ModelRequest,
    outcome: Outcome & { go: true },
    isBounded: boolean,
  ): void {
    const { grant, at } = outcome;
    const worst = grant?.amounts.worstNanoUsd ?? null;
    if (grant) {
      this.model.reserve(grant.reservationId, scopes, {
        ...{ at, estimate: request.estimate, worst: worst ?? request.estimate },
      });
    }
    this.model.watch(scopes, isBounded ? request : { ...request, cost: null }, at);
    this.#inFlight.push({
      ...{ instance, id: grant?.reservationId ?? null, scopes, at, grant, estimate: request.estimate },
      ...{ worst: grant?.isStrict ? worst! : null, isUnpriced: request.isUnpriced },
    });
  }

  #checkStrict(
    scopes: ModelScopes,
    at: number,
    { ceilings, isUndecided }: {
      ceilings?: ReadonlyMap<string, bigint>;
      isUndecided?: (standing: ModelStanding) => boolean;
    } = {},
  ): void {
    for (const each of this.model.standings(scopes, at)) {
      if (each.mode !== "strict" || each.action === "watch" || isUndecided?.(each)) continue;
      const ceiling = ceilings?.get(`${each.budgetId} ${each.counter}`) ?? each.limit + each.extra;
      const sum = each.settled + each.worst + each.lost;
      assert.ok(sum <= ceiling, `${each.budgetId} (${each.per}, “${each.counter}”): ${sum} of ${ceiling}`);
    }
  }

  /** Makes a call: the gate must decide as the model. */
  async call(instance: number, planned: PlannedCall): Promise<void> {
    const scopes = this.callers[planned.caller % this.callers.length]!;
    const { clock } = this.instance(instance);
    const { request, bounds } = requestOf(planned, this.unit);
    const outcome = await this.ask(instance, scopes, bounds);
    const expected = this.model.decide(scopes, request, clock.at);
    const budgets = [...this.model.standings(scopes, clock.at)].map(({ budgetId, counter }) =>
      budgetId ?? counter
    );
    const context = JSON.stringify({ planned, scopes, at: clock.at, expected: text(expected), budgets });
    if (expected.kind === "go") {
      assert.ok(outcome.go === true, `not let in: ${context} ${JSON.stringify(outcome, bigints)}`);
      assert.equal(outcome.at, clock.at);
      assert.equal(outcome.grant !== undefined, expected.hasBudget, context);
      if (outcome.grant) {
        assert.equal(outcome.grant.isStrict, expected.isStrict, context);
        if (expected.isStrict && !request.isUnpriced) {
          assert.equal(outcome.grant.outputLimit, expected.output, context);
          assert.equal(outcome.grant.amounts.worstNanoUsd, expected.worst, context);
        }
      }
      this.#letIn(instance, scopes, request, outcome, outcome.isBounded);
      if (!request.isUnpriced) this.#checkStrict(scopes, clock.at);
    } else if (outcome.go === false) {
      const reasons = reasonsOf(outcome.refusals);
      if (expected.kind === "wait") {
        for (const name of expected.reasons.keys()) {
          if (name.startsWith("null ")) expected.reasons.delete(name);
        }
      }
      assert.deepEqual(reasons, new Map([...expected.reasons].sort()), context);
      this.checkAmounts(outcome.refusals, scopes, clock.at);
      this.model.countRefusal(new Set(outcome.refusals.map(({ standing }) => standing.budgetId)));
    } else {
      assert.ok(outcome.go === "waits" && expected.kind === "wait", `${outcome.go}: ${context}`);
      const shared = [...expected.reasons.keys()].filter((name) => !name.startsWith("null "));
      assert.deepEqual(shared, [], `it waits for ever: ${context}`);
    }
    await this.checkState(instance, scopes);
  }

  /** Asks for calls at the same time, of clocks that continue: none may be let in beside others that leave no room for it. */
  async burst(calls: readonly { instance: number; call: PlannedCall }[]): Promise<void> {
    const plans = calls.map(({ instance, call }) => ({
      ...{ instance, clock: this.instance(instance).clock, ...requestOf(call, this.unit) },
      scopes: this.callers[call.caller % this.callers.length]!,
    }));
    const startedAt = plans.map(({ clock }) => clock.at);
    const ceilings = new Map<string, bigint>();
    for (const { scopes, clock } of plans) {
      for (const { budgetId, counter, limit, extra } of this.model.standings(scopes, clock.at)) {
        const name = `${budgetId} ${counter}`;
        const before = ceilings.get(name) ?? 0n;
        ceilings.set(name, limit + extra > before ? limit + extra : before);
      }
    }
    for (const { clock } of plans) clock.ticks = true;
    const outcomes = await Promise.all(
      plans.map(({ instance, scopes, bounds }) => this.ask(instance, scopes, bounds)),
    );
    for (const { clock } of plans) clock.ticks = false;
    const latest = Math.max(...plans.map(({ clock }) => clock.at));
    for (const [index, outcome] of outcomes.entries()) {
      const { instance, scopes, request } = plans[index]!;
      if (outcome.go === true) this.#letIn(instance, scopes, request, outcome, outcome.isBounded);
    }
    for (const [index, outcome] of outcomes.entries()) {
      const { scopes, request, clock } = plans[index]!;
      if (outcome.go === true) {
        // A budget of one key or agent in a session does not decide on calls of others, which its counter has too.
        const isUndecided = ({ budgetId, counter }: ModelStanding) =>
          plans.some((other, index) =>
            outcomes[index]!.go === true && this.model.isIn(counter, other.scopes) &&
            !this.model.standings(other.scopes, latest).some((each) =>
              each.budgetId === budgetId && each.counter === counter
            )
          );
        if (!request.isUnpriced) this.#checkStrict(scopes, latest, { ceilings, isUndecided });
        continue;
      }
      const decisions = [startedAt[index]!, clock.at].map((at) =>
        this.model.decide(scopes, request, at).kind
      );
      assert.ok(
        decisions.some((kind) => kind !== "go"),
        `it was refused while it fits: ${JSON.stringify(scopes)}`,
      );
    }
    // Which of them the watching budgets saw, and which were refused by what, depends on their order.
    const { rows } = await this.store.read({ sql: "SELECT budget_id, refused_calls FROM budgets" });
    for (const [budgetId, refused] of rows) {
      this.model.budgets.find((budget) => budget.budgetId === budgetId)!.refusedCalls = Number(refused);
    }
    await this.checkState(plans[0]!.instance, plans[0]!.scopes);
  }

  /** Ends a call in flight. */
  async end(
    which: number,
    fate: "book" | "fail" | "lose" | "die" | "hold" | "spool",
    share: number,
  ): Promise<void> {
    if (this.#inFlight.length === 0) return;
    const [{ instance, id, scopes, at, grant, worst, estimate, isUnpriced }] = this.#inFlight.splice(
      which % this.#inFlight.length,
      1,
    ) as [InFlight];
    // What a process has spooled that has died is booked by another one.
    const { ctx, clock } = this.instance(fate === "spool" ? instance + 1 : instance);
    if (fate === "fail" && grant) await ctx.gate.release(grant);
    if (fate === "hold" && grant) await ctx.gate.hold(grant);
    if ((fate === "die" || fate === "spool") && id) await this.#expire(id);
    if (fate === "fail" || fate === "die" || fate === "hold") {
      const reservation = this.model.reservations.get(id ?? "");
      if (!reservation) return;
      this.model.reservations.delete(id!);
      // A strict budget holds what may have been sent by a process that has died.
      if (fate !== "fail" && worst) {
        this.model.reservations.set(id!, { ...reservation, estimate: 0n, worst, isLost: true });
      }
      return await this.checkState(instance, scopes);
    }
    const cost = isUnpriced ? null : (worst ?? 2n * estimate) * BigInt(share) / 100n;
    const lost = fate === "lose" && worst !== null ? worst - (cost ?? 0n) : 0n;
    if (lost > 0n) grant!.lostNanoUsd = lost;
    const before = this.#strictSums(id, scopes, at);
    const reservation = this.model.reservations.get(id ?? "");
    await bookLooseCalls(ctx, [
      modelCall({
        callId: `call_${++this.ids}`,
        at,
        ...scopes,
        ...scopes.subjects,
        keyId: scopes.keyId ?? undefined,
        ...(scopes.subjects?.billing === "plan" ? payByPlan({ costNanoUsd: cost }) : { costNanoUsd: cost }),
      }),
    ], { grant });
    if (reservation && lost > 0n) {
      this.model.reservations.set(id!, { ...reservation, estimate: 0n, worst: lost, isLost: true });
    }
    this.model.book({ ...scopes, at, cost: cost ?? 0n }, clock.at, { withAbove: grant !== undefined });
    if (id && lost === 0n) this.model.reservations.delete(id);
    if (worst !== null) {
      for (const each of this.model.standings(scopes, at)) {
        const was = before.get(`${each.budgetId} ${each.counter}`);
        const sum = each.settled + each.worst + each.lost;
        if (was !== undefined) assert.ok(sum <= was, `${each.budgetId} grew from ${was} to ${sum}`);
      }
    }
    await this.checkState(instance, scopes);
  }

  /** Returns the sums of what is booked and held in the strict budgets that count a reservation. */
  #strictSums(id: string | null, scopes: ModelScopes, at: number): Map<string, bigint> {
    const { counters } = this.model.reservations.get(id ?? "") ?? {};
    const strict = this.model.standings(scopes, at).filter((each) =>
      each.mode === "strict" && counters?.has(each.counter)
    );
    return new Map(
      strict.map((each) => [`${each.budgetId} ${each.counter}`, each.settled + each.worst + each.lost]),
    );
  }

  async #expire(id: string): Promise<void> {
    await this.write("UPDATE reservations SET expires_at = 1 WHERE reservation_id = ?", id);
  }

  /** Reserves for a call elsewhere. */
  async elsewhere(instance: number, planned: PlannedCall): Promise<void> {
    // What such a call will be besides is not known.
    const { subjects: _, ...caller } = this.callers[planned.caller % this.callers.length]!;
    const scopes = { ...caller, runId: null };
    const { ctx, clock } = this.instance(instance);
    const worst = planned.kind === "unbounded" ? null : BigInt(planned.input) * this.unit;
    const estimate = BigInt(planned.estimate) * this.unit;
    const request = {
      estimate,
      isUnpriced: false,
      output: 1,
      cost: worst === null ? null : () => worst,
      canShorten: false,
    };
    const expected = this.model.decideElsewhere(scopes, request, clock.at);
    const outcome = await ctx.gate.admitElsewhere({
      ...scopes,
      subjects: {},
      estimateNanoUsd: estimate,
      worstNanoUsd: worst,
      ttlMs: 900_000,
    });
    assert.equal(
      outcome.go,
      expected.size === 0,
      JSON.stringify({ planned, scopes, expected: [...expected] }),
    );
    if (outcome.go) {
      this.model.reserve(outcome.reservationId, scopes, { at: clock.at, estimate, worst: worst ?? estimate });
      this.model.watch(scopes, request, clock.at);
      this.#elsewhere.push({ id: outcome.reservationId, scopes, at: clock.at, worst });
      this.#checkStrict(scopes, clock.at);
    } else {
      assert.deepEqual(reasonsOf(outcome.refusals), new Map([...expected].sort()));
      this.checkAmounts(outcome.refusals, scopes, clock.at);
      this.model.countRefusal(new Set(outcome.refusals.map(({ standing }) => standing.budgetId)));
    }
    await this.checkState(instance, scopes);
  }

  /** Reports a call that was made elsewhere, late or a little ahead; it may settle a reservation. */
  async report(
    instance: number,
    caller: number,
    cost: number,
    lateMs: number,
    settles: number | null,
  ): Promise<void> {
    const { ctx, clock } = this.instance(instance);
    const index = settles === null ? -1 : settles % Math.max(1, this.#elsewhere.length);
    const reserved = this.#elsewhere[index];
    const scopes = this.callers[caller % this.callers.length]!;
    const nano = BigInt(cost) * this.unit;
    const at = clock.at - lateMs;
    await reportCalls(ctx, "report", [{
      ...{
        callId: `call_${++this.ids}`,
        at,
        agentId: scopes.agentId,
        sessionId: scopes.sessionId,
        ...(scopes.rootSessionId !== undefined && { rootSessionId: scopes.rootSessionId }),
        runId: scopes.runId,
        keyId: scopes.keyId,
      },
      ...{
        step: null,
        tools: [],
        provider: "local",
        // A reported 0 is a cost only of a model without a price.
        model: cost === 0 ? "free" : "priced",
        durationMs: null,
        costUsd: toUsd(nano),
        ...(scopes.subjects?.billing === "plan" && { isPlan: true }),
        ...(scopes.subjects?.tags && { tags: scopes.subjects.tags }),
      },
      usage: usageOf({ inputTokens: 1, outputTokens: 1 }),
      ...(reserved && { reservationId: reserved.id }),
    }]);
    if (reserved?.scopes.agentId === scopes.agentId) {
      this.#elsewhere.splice(index, 1);
      this.model.reservations.delete(reserved.id);
    }
    const model = cost === 0 ? "free" : "priced";
    const source = "report" as const;
    const subjects = { billing: "billed" as const, ...scopes.subjects, model, provider: "local", source };
    this.model.book({ ...scopes, subjects, at, cost: nano }, clock.at, { withAbove: false });
    await this.checkState(instance, scopes);
  }

  /** Ends all that is in progress: then nothing is reserved but what was lost or is held, and the warnings are those of the model. */
  async close(): Promise<void> {
    while (this.#inFlight.length > 0) await this.end(0, "book", 50);
    for (const { id } of this.#elsewhere) await this.#expire(id);
    await this.sweep(0);
    const read = async (sql: string) => (await this.store.read({ sql })).rows;
    const open =
      "SELECT reservation_id FROM reservations WHERE is_lost = 0 AND NOT (is_held = 1 AND expires_at = 1)";
    assert.deepEqual(await read(open), []);
    const lost = [...this.model.reservations.values()].filter(({ isLost }) => isLost);
    const [[count]] = await read("SELECT count(DISTINCT reservation_id) FROM reservations") as [[bigint]];
    assert.equal(Number(count), lost.length);
    const warnings = await read(`SELECT rule_id || ' ' || "window" FROM alerts ORDER BY 1`);
    assert.deepEqual(warnings.map(([window]) => window), this.model.warnings.toSorted());
    const refused = await read("SELECT budget_id, refused_calls FROM budgets ORDER BY budget_id");
    assert.deepEqual(
      new Map(refused.map(([id, calls]) => [id as string, Number(calls)])),
      new Map(
        this.model.budgets.map(({ budgetId, refusedCalls }) => [budgetId, refusedCalls] as const).sort(),
      ),
    );
  }
}

function reasonsOf(refusals: readonly Refusal[]) {
  const reasons = refusals.map(({ reason, standing: { budgetId, scope } }) =>
    [nameOf({ budgetId, counter: scope }), reason] as const
  );
  return new Map(reasons.sort());
}

const bigints = (_key: string, value: unknown) => typeof value === "bigint" ? String(value) : value;

function text(decision: ReturnType<BudgetModel["decide"]>): string {
  return JSON.stringify(
    { ...decision, ...("reasons" in decision && { reasons: [...decision.reasons] }) },
    bigints,
  );
}
