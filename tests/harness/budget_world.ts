/** Several gates over one database, the model that they are compared with, and the changes of budgets. */
import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { rollUp } from "../../src/calls/mod.ts";
import { type CallBounds, readStandingsOf, type Refusal } from "../../src/budgets/mod.ts";
import { FORGET_HEADROOM, type Grant, sweepReservations } from "../../src/budgets/reservations/mod.ts";
import { shapesOf } from "../../src/budgets/budget_fields.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { addCalendar, addShapes, extendCalendars } from "../../src/ledger/mod.ts";
import { readRunsAbove } from "../../src/sessions/mod.ts";
import type { Store } from "../../src/store/mod.ts";
import { createBooking, type TestBooking } from "./booking.ts";
import { BudgetModel, type ModelBudget, type ModelRun, type ModelScopes } from "./budget_model.ts";

/** The clock of an instance: its wall time is set by the history, and to wait takes no time of it. */
export function instanceClock(
  start: number,
): Clock & { at: number; ticks: boolean; onSleep: Set<() => void> } {
  let monotonic = 0;
  return {
    at: start,
    ticks: false,
    onSleep: new Set(),
    now() {
      return this.ticks ? this.at++ : this.at;
    },
    monotonic: () => monotonic,
    async sleep(delayMs) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      monotonic += Math.max(delayMs, 7_000); // or each wait of 30 s would take 60 looks
      for (const listener of this.onSleep) listener();
    },
  };
}

export interface BudgetInstance {
  ctx: TestBooking;
  clock: ReturnType<typeof instanceClock>;
}

/** The answer of a gate; `waits` if only the budget of its own run holds the call. */
export type Outcome = { go: true; at: number; grant?: Grant } | { go: false; refusals: Refusal[] } | {
  go: "waits";
};

/** Opens instances over stores, whose clocks differ. */
export async function openInstances(
  stores: readonly Store[],
  start: number,
  offsets: readonly number[],
): Promise<BudgetInstance[]> {
  const instances = [];
  for (const [index, offset] of offsets.entries()) {
    const clock = instanceClock(start + offset);
    const store = stores[index % stores.length]!;
    instances.push({ ctx: await createBooking(store, { clock, instanceId: `inst_${index}` }), clock });
  }
  return instances;
}

export class BudgetWorld {
  readonly model = new BudgetModel();
  protected ids = 0;

  /** @param unit the nano-USD of one unit of the amounts of a history */
  constructor(
    readonly instances: readonly BudgetInstance[],
    readonly callers: readonly ModelScopes[],
    readonly unit: bigint,
  ) {}

  protected get store(): Store {
    return this.instances[0]!.ctx.store;
  }

  protected instance(index: number) {
    return this.instances[index % this.instances.length]!;
  }

  /** Writes rows, as another process would, and makes every instance read the budgets again. */
  protected async write(sql: string, ...args: (string | bigint | number | null)[]): Promise<void> {
    await this.store.write([{ sql, args }, FORGET_HEADROOM]);
    for (const { ctx } of this.instances) ctx.budgets.changed();
  }

  async addRun(
    runId: string,
    agentId: string,
    parent?: string,
    budget: ModelRun["budget"] = null,
  ): Promise<void> {
    this.model.runs.set(runId, { runId, agentId, ...(parent && { parent }), budget });
    await this.write(
      `INSERT INTO runs (run_id, session_id, agent_id, model, status, cost_budget_nano_usd, budget_mode, instance_id,
        lease_until, started_at, parent_run_id) VALUES (?1, ?1, ?2, 'm', 'running', ?3, ?4, 'inst_0', 9e15, 0, ?5)`,
      ...[runId, agentId, budget?.limit ?? null, budget?.mode ?? "stop", parent ?? null],
    );
  }

  async addBudget(fields: Omit<ModelBudget, "budgetId" | "raises" | "refusedCalls">): Promise<void> {
    const budget = { ...fields, budgetId: `bud_${++this.ids}`, raises: [], refusedCalls: 0 };
    this.model.budgets.push(budget);
    const {
      budgetId,
      limit,
      per,
      scope,
      each,
      shape,
      mode,
      action,
      warnAt,
      countsFrom,
      allowUnpriced,
      enabled,
      calendar,
    } = budget;
    const now = this.instances[0]!.clock.at;
    const counted = [...addShapes(shapesOf(budget), now), ...addCalendar(calendar, now)];
    if (counted.length > 0) await this.store.write(counted);
    await this.write(
      `INSERT INTO budgets (budget_id, name, limit_nano_usd, per, scope, each, mode, action, warn_at, counts_from,
        allow_unpriced, enabled, created_at, updated_at, shape, calendar) VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, 0, ?12, ?13)`,
      ...[budgetId, limit, per, scope, each, mode, action, JSON.stringify(warnAt), countsFrom],
      ...[Number(allowUnpriced), Number(enabled), shape, calendar],
    );
  }

  /** Sets clocks, and computes windows ahead, as each process does every hour. */
  async setClocks(byMs: number, instance: number | null): Promise<void> {
    for (const [index, { clock, ctx }] of this.instances.entries()) {
      if (instance !== null && instance % this.instances.length !== index) continue;
      clock.at += byMs;
      await extendCalendars(ctx);
    }
  }

  protected budget(index: number): ModelBudget | undefined {
    return this.model.budgets[index % Math.max(1, this.model.budgets.length)];
  }

  async setLimit(index: number, limit: number): Promise<void> {
    const budget = this.budget(index);
    if (!budget) return;
    budget.limit = BigInt(limit) * this.unit;
    await this.write(
      "UPDATE budgets SET limit_nano_usd = ? WHERE budget_id = ?",
      budget.limit,
      budget.budgetId,
    );
  }

  async setEnabled(index: number, enabled: boolean): Promise<void> {
    const budget = this.budget(index);
    if (!budget) return;
    budget.enabled = enabled;
    await this.write("UPDATE budgets SET enabled = ? WHERE budget_id = ?", Number(enabled), budget.budgetId);
  }

  async raise(index: number, amount: number, forMs: number | null, counter: string | null): Promise<void> {
    const budget = this.budget(index);
    if (!budget) return;
    const extra = BigInt(amount) * this.unit;
    const until = forMs === null ? null : this.instances[0]!.clock.at + forMs;
    budget.raises.push({ extra, until, counter });
    await this.write(
      "INSERT INTO budget_raises (raise_id, budget_id, extra_nano_usd, until, created_at, scope) VALUES (?, ?, ?, ?, 0, ?)",
      ...[`raise_${++this.ids}`, budget.budgetId, extra, until, counter],
    );
  }

  /** Asks the gate of an instance; a call that only the budget of its own run holds would wait for ever. */
  protected async ask(
    instance: number,
    scopes: ModelScopes,
    bounds: CallBounds,
  ): Promise<Outcome & { isBounded: boolean }> {
    const { ctx, clock } = this.instance(instance);
    const own = this.model.runs.get(scopes.runId!);
    const above = own?.parent === undefined ? [] : await readRunsAbove(ctx, own.parent);
    const giveUp = new AbortController();
    let sleeps = 0;
    const onSleep = () => void (++sleeps > 40 && giveUp.abort());
    clock.onSleep.add(onSleep);
    let isBounded = true;
    try {
      const admission = await ctx.gate.admit({
        ...scopes,
        runId: scopes.runId!,
        budget: own?.budget ? { ...own.budget, limitNanoUsd: own.budget.limit } : null,
        above,
        bound(_at, withWorst) {
          isBounded = withWorst;
          const { worst: _, ...estimated } = bounds;
          return withWorst ? bounds : estimated;
        },
        signal: giveUp.signal,
      });
      return { ...admission, isBounded };
    } catch (error) {
      if (!giveUp.signal.aborted) throw error;
      return { go: "waits", isBounded };
    } finally {
      clock.onSleep.delete(onSleep);
    }
  }

  /** Checks the amounts of refusals: the ledger's sum and the open reservations. */
  protected checkAmounts(refusals: readonly Refusal[], scopes: ModelScopes, at: number): void {
    const standings = this.model.standings(scopes, at);
    for (const { standing: real } of refusals) {
      const each = standings.find(({ budgetId, counter }) =>
        budgetId === real.budgetId && counter === real.scope
      )!;
      assert.deepEqual(plain(real), {
        ...{ per: each.per, from: each.from, resetsAt: each.resetsAt, limit: each.limit, extra: each.extra },
        ...{ settled: each.settled, estimated: each.estimated, worst: each.worst, lost: each.lost },
      });
    }
  }

  async rollUp(instance: number): Promise<void> {
    await rollUp(this.instance(instance).ctx);
  }

  async sweep(instance: number): Promise<void> {
    await sweepReservations(this.instance(instance).ctx);
  }

  /** Compares all counters of a call with the model. */
  protected async checkState(instance: number, scopes: ModelScopes): Promise<void> {
    const { ctx, clock } = this.instance(instance);
    const own = this.model.runs.get(scopes.runId ?? "");
    const above = this.model.above(scopes.runId).map(({ runId, agentId, budget }) => ({
      ...{ runId, agentId, budget: budget && { ...budget, limitNanoUsd: budget.limit } },
    }));
    const budget = own?.budget ? { ...own.budget, limitNanoUsd: own.budget.limit } : null;
    const real = await readStandingsOf(ctx, {
      scopes: { ...scopes, budget, above },
      at: clock.at,
    });
    const of = (each: { budgetId: string | null }, counter: string) => `${each.budgetId} ${counter}`;
    const states = new Map(real.map((each) => [of(each, each.scope), plain(each)]));
    const expected = this.model.standings(scopes, clock.at).map((each) =>
      [of(each, each.counter), {
        ...{ per: each.per, from: each.from, resetsAt: each.resetsAt, limit: each.limit, extra: each.extra },
        ...{ settled: each.settled, estimated: each.estimated, worst: each.worst, lost: each.lost },
      }] as const
    );
    assert.deepEqual(new Map([...states].sort()), new Map(expected.sort()));
  }
}

function plain(each: Refusal["standing"]) {
  return {
    ...{
      per: each.per,
      from: each.from,
      resetsAt: each.resetsAt,
      limit: each.limitNanoUsd,
      extra: each.extraNanoUsd,
    },
    ...{ settled: each.settledNanoUsd, estimated: each.estimatedNanoUsd },
    ...{ worst: each.worstNanoUsd, lost: each.lostNanoUsd },
  };
}
