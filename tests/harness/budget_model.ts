/** A plain model of budgets: lists of calls and reservations that are added up for each question. It knows no SQL. */
import type {
  BudgetAction,
  BudgetEach,
  BudgetMode,
  BudgetPeriod,
  RefusalReason,
} from "../../src/contract/values.ts";
import { calendar, zoned } from "./calendar_model.ts";

export interface ModelBudget {
  budgetId: string;
  limit: bigint;
  per: BudgetPeriod;
  /** Such as `Europe/Berlin week sunday`; null for the windows of UTC. */
  calendar: string | null;
  scope: string;
  each: BudgetEach | null;
  /** The parts of a call by which a budget with many counters counts; null for those of agents, sessions, keys and runs. */
  shape: string | null;
  mode: BudgetMode;
  action: BudgetAction;
  warnAt: readonly number[];
  countsFrom: number | null;
  allowUnpriced: boolean;
  enabled: boolean;
  /** `counter`: the only one that is raised; null for all of them. */
  raises: { extra: bigint; until: number | null; counter: string | null }[];
  refusedCalls: number;
}

export interface ModelRun {
  runId: string;
  agentId: string;
  parent?: string;
  budget: { limit: bigint; mode: BudgetMode; allowUnpriced: boolean } | null;
}

export interface ModelScopes {
  agentId: string;
  sessionId: string | null;
  keyId: string | null;
  runId: string | null;
  /** The session at the root of its tree, where that is another one. */
  rootSessionId?: string;
  subjects?: {
    model: string;
    provider: string;
    source: "run" | "gateway" | "report";
    billing: "plan" | "billed";
    tags?: Record<string, string>;
  };
}

/** A call to decide on: the cost of so many output tokens, from 1 to `output`; null if it has no bound. */
export interface ModelRequest {
  estimate: bigint;
  isUnpriced: boolean;
  output: number;
  cost: ((output: number) => bigint) | null;
  /** False for a fixed bound. */
  canShorten: boolean;
}

export interface ModelReservation extends ModelScopes {
  at: number;
  estimate: bigint;
  worst: bigint;
  isLost: boolean;
  /** The counters that had read it: budgets that are added later don't. */
  counters: ReadonlySet<string>;
}

/** A budget that counts a call, and the sums of its counter. */
export interface ModelStanding {
  budgetId: string | null;
  counter: string;
  per: BudgetPeriod;
  from: number;
  resetsAt: number | null;
  mode: BudgetMode;
  action: BudgetAction;
  allowUnpriced: boolean;
  limit: bigint;
  extra: bigint;
  settled: bigint;
  estimated: bigint;
  worst: bigint;
  lost: bigint;
}

export type ModelDecision =
  | { kind: "go"; output: number; worst: bigint | null; isStrict: boolean; hasBudget: boolean }
  | { kind: "wait" | "refuse"; reasons: Map<string, RefusalReason> };

const DAY = 86_400_000;
const HOUR = 3_600_000;
const total = <T>(items: Iterable<T>, amount: (item: T) => bigint) => {
  let sum = 0n;
  for (const item of items) sum += amount(item);
  return sum;
};

const ceilingOf = ({ limit, extra }: ModelStanding) => limit + extra;
const heldOf = ({ worst, lost }: ModelStanding) => worst + lost;
/** The name of a budget and its counter in decisions; null for the budget of a run itself. */
export const nameOf = ({ budgetId, counter }: Pick<ModelStanding, "budgetId" | "counter">) =>
  `${budgetId} of ${counter}`;

/** The counter of a call by the parts of a shape; null if it lacks one of them. */
function counterBy(
  shape: string,
  { agentId, sessionId, rootSessionId = sessionId ?? undefined, keyId, subjects }: ModelScopes,
): string | null {
  const parts: Record<string, string | null | undefined> = {
    ...{ agent: agentId, session: sessionId, tree: rootSessionId, key: keyId, ...subjects, tags: undefined },
  };
  let counter = `by ${shape}`;
  for (const part of shape.split(",")) {
    const [kind, name] = part.split(/[:~]/) as [string, string | undefined];
    if (kind === "plan" || kind === "billed") {
      if (subjects?.billing !== kind) return null;
      continue;
    }
    if (kind === "model" && name !== undefined) {
      const start = name.slice(0, -1); // only patterns with a star at their end
      if (!subjects?.model.startsWith(start)) return null;
      continue;
    }
    const value = kind === "tag" ? subjects?.tags?.[name!] : parts[kind];
    if (value == null) return null;
    counter += ` ${value.split("%").join("%25").split(" ").join("%20")}`;
  }
  return counter;
}

export class BudgetModel {
  readonly budgets: ModelBudget[] = [];
  readonly runs = new Map<string, ModelRun>();
  /** The cost of each call, or its price by the API where a plan has paid for it. */
  readonly calls: (ModelScopes & { at: number; cost: bigint })[] = [];
  readonly reservations = new Map<string, ModelReservation>();
  /** The highest share of each window that was warned of, in thousandths. */
  readonly warned = new Map<string, number>();
  readonly warnings: string[] = [];

  /** The runs above a run, nearest first. */
  above(runId: string | null): ModelRun[] {
    const run = runId === null ? undefined : this.runs.get(runId);
    const parent = run?.parent === undefined ? undefined : this.runs.get(run.parent)!;
    return parent ? [parent, ...this.above(parent.runId)] : [];
  }

  /** The budgets that count a call at a time, with the sums of their counters. */
  standings(call: ModelScopes, at: number, { withAbove = true, withOwn = true } = {}): ModelStanding[] {
    const { agentId, sessionId, keyId, runId } = call;
    const names: Record<string, string | null> = {
      agent: agentId,
      session: sessionId && `session ${sessionId}`,
      key: keyId && `key ${keyId}`,
    };
    const found: ModelStanding[] = [];
    const enabled = this.budgets.filter((budget) => budget.enabled);
    for (const budget of enabled) {
      const { per, each, scope, shape } = budget;
      if (
        scope.startsWith("by ")
          ? !this.isIn(scope, call)
          : scope !== "" && !Object.values(names).includes(scope)
      ) continue;
      const shaped = shape === null ? null : counterBy(shape, call);
      const value = each && (shape === null ? names[each]! : shaped);
      if (each && value === null) continue;
      if (
        each && enabled.some((other) => other.each === null && other.scope === value && other.per === per)
      ) {
        continue;
      }
      const counter = shape !== null
        ? shaped
        : per === "run"
        ? runId && `run ${runId}`
        : per === "session"
        ? names.session!
        : value ?? scope;
      if (counter !== null) found.push(this.#standing(budget, counter, at));
    }
    if (withAbove) {
      for (const run of this.above(runId)) {
        for (const budget of enabled) {
          if (budget.per !== "run" || (budget.scope !== "" && budget.scope !== run.agentId)) continue;
          found.push(this.#standing(budget, `run ${run.runId}`, at));
        }
      }
    }
    const own = runId === null ? undefined : this.runs.get(runId);
    for (const run of withOwn && own ? [own, ...this.above(runId)] : []) {
      if (run.budget) found.push(this.#standing(run.budget, `run ${run.runId}`, at));
    }
    return found;
  }

  #standing(
    budget: ModelBudget | NonNullable<ModelRun["budget"]>,
    counter: string,
    at: number,
  ): ModelStanding {
    const resource = "budgetId" in budget ? budget : undefined;
    const per = resource?.per ?? "run";
    let [from, resetsAt]: [number, number | null] = [0, null];
    const text = resource?.calendar ?? null;
    if (per === "30d") {
      const day = at - 30 * DAY;
      [from] = text === null ? calendar("day", day) : zoned(text, day);
    } else if (per === "day" || per === "week" || per === "month" || per === "quarter") {
      [from, resetsAt] = text === null ? calendar(per, at) : zoned(text, at);
    }
    if (per === "hour") from = at - HOUR + 1;
    else if (per === "lifetime") from = resource?.countsFrom ?? 0;
    const open = [...this.reservations.values()].filter((each) =>
      each.counters.has(counter) && each.at >= from
    );
    const running = open.filter(({ isLost }) => !isLost);
    return {
      budgetId: resource?.budgetId ?? null,
      ...{ counter, per, from, resetsAt, mode: budget.mode, action: resource?.action ?? "refuse" },
      ...{ allowUnpriced: budget.allowUnpriced, limit: budget.limit },
      extra: total(
        resource?.raises.filter((raise) =>
          (raise.until === null || raise.until > at) && (raise.counter === null || raise.counter === counter)
        ) ?? [],
        ({ extra }) => extra,
      ),
      settled: total(
        this.calls.filter((call) => call.at >= from && this.isIn(counter, call)),
        ({ cost, subjects }) =>
          subjects?.billing === "plan" && !/^by plan(?![^ ,])/.test(counter) ? 0n : cost,
      ),
      estimated: total(running, ({ estimate }) => estimate),
      worst: total(running, ({ worst }) => worst),
      lost: total(open.filter(({ isLost }) => isLost), ({ worst }) => worst),
    };
  }

  /** Returns whether a counter adds up a call: that of a session has those of other keys and agents too. */
  isIn(counter: string, call: ModelScopes): boolean {
    const { agentId, sessionId, keyId, runId } = call;
    if (counter.startsWith("by ")) return counterBy(counter.split(" ")[1]!, call) === counter;
    if (counter === "" || counter === agentId) return true;
    const [kind, id] = counter.split(" ");
    if (kind === "session") return id === sessionId;
    if (kind === "key") return id === keyId;
    return kind === "run" && (id === runId || this.above(runId).some((run) => run.runId === id));
  }

  /** The decision of DESIGN.md §9: every budget must allow the call. */
  decide(call: ModelScopes, request: ModelRequest, at: number): ModelDecision {
    const all = this.standings(call, at);
    const deciding = all.filter(({ action }) => action === "refuse");
    const refused = new Map<string, RefusalReason>();
    for (const each of deciding) {
      if (each.settled >= ceilingOf(each)) refused.set(nameOf(each), "spent");
      else if (request.isUnpriced) {
        if (!each.allowUnpriced) refused.set(nameOf(each), "unpriced");
      } else if (each.mode === "strict" && request.cost === null) refused.set(nameOf(each), "unbounded");
    }
    if (refused.size > 0) return { kind: "refuse", reasons: refused };

    const held = new Map<string, RefusalReason>();
    for (const each of deciding) {
      if (each.mode === "stop" && each.settled + each.estimated >= ceilingOf(each)) {
        held.set(nameOf(each), "held");
      }
    }
    const bounded = request.isUnpriced ? [] : deciding.filter(({ mode }) => mode === "strict");
    const fits = (each: ModelStanding, output: number) =>
      each.settled + heldOf(each) + request.cost!(output) <= ceilingOf(each);
    let { output } = request;
    const short = bounded.filter((each) => !fits(each, output));
    if (short.length > 0) {
      // Only where no call is in flight is it certain that no more will be left.
      for (const each of short.filter(({ worst }) => worst === 0n)) {
        let most = request.canShorten ? output : 0;
        while (most > 0 && !fits(each, most)) most--;
        if (most === 0) refused.set(nameOf(each), "would_overshoot");
        else output = most;
      }
      if (refused.size > 0) return { kind: "refuse", reasons: refused };
      const stillShort = short.filter((each) => !fits(each, output));
      // A stop budget on which the call waits anyway is named once it has to wait at all.
      for (const each of stillShort) held.set(nameOf(each), "held");
      if (stillShort.length > 0) return { kind: "wait", reasons: held };
    }
    if (held.size > 0) return { kind: "wait", reasons: held };
    return {
      kind: "go",
      output,
      worst: request.isUnpriced ? 0n : request.cost && request.cost(output),
      isStrict: deciding.some(({ mode }) => mode === "strict"),
      hasBudget: all.length > 0,
    };
  }

  /** The decision on a reservation for a call elsewhere, all of which has to fit in every budget. */
  decideElsewhere(
    call: ModelScopes,
    { estimate, cost }: ModelRequest,
    at: number,
  ): Map<string, RefusalReason> {
    const refused = new Map<string, RefusalReason>();
    for (const each of this.standings(call, at)) {
      if (each.action !== "refuse") continue;
      const isStrict = each.mode === "strict";
      const needed = isStrict ? cost?.(1) : estimate;
      const running = isStrict ? each.worst : each.estimated;
      const left = ceilingOf(each) - each.settled - (isStrict ? heldOf(each) : running);
      if (each.settled >= ceilingOf(each)) refused.set(nameOf(each), "spent");
      else if (needed === undefined) refused.set(nameOf(each), "unbounded");
      else if (needed > left || (!isStrict && left <= 0n)) {
        refused.set(nameOf(each), needed > left + running ? "would_overshoot" : "held");
      }
    }
    return refused;
  }

  /** Adds the reservation of a call that was let in. */
  reserve(id: string, call: ModelScopes, fields: { at: number; estimate: bigint; worst: bigint }): void {
    const counters = new Set(this.standings(call, fields.at).map(({ counter }) => counter));
    // A call that is made elsewhere has no process in the id.
    if (call.runId !== null) counters.add(`run ${call.runId}`);
    else if (!id.includes("/")) counters.add(call.agentId);
    this.reservations.set(id, { ...call, ...fields, isLost: false, counters });
  }

  /** Counts a call that was let in with the budgets that only watch and would have refused it. */
  watch(call: ModelScopes, request: ModelRequest, at: number): void {
    const watching = new Set<string>();
    for (const each of this.standings(call, at)) {
      if (each.action !== "watch") continue;
      const isSpent = each.settled >= ceilingOf(each);
      const wouldRefuse = isSpent || (request.isUnpriced ? !each.allowUnpriced : each.mode === "strict" &&
        (request.cost === null || each.settled + heldOf(each) > ceilingOf(each)));
      if (wouldRefuse) watching.add(each.budgetId!);
    }
    this.countRefusal(watching);
  }

  /** Counts a refused call, once with each of the budgets that refuse it. */
  countRefusal(budgetIds: ReadonlySet<string | null>): void {
    for (const budget of this.budgets) if (budgetIds.has(budget.budgetId)) budget.refusedCalls++;
  }

  /** Books a call, and warns of the highest share that it has reached in each window of now. */
  book(call: ModelScopes & { at: number; cost: bigint }, now: number, { withAbove = true } = {}): void {
    this.calls.push(call);
    for (const each of this.standings(call, now, { withAbove, withOwn: false })) {
      const { warnAt } = this.budgets.find(({ budgetId }) => budgetId === each.budgetId)!;
      const reached = warnAt.map((share) => Math.round(share * 1000))
        .filter((share) => each.settled >= ceilingOf(each) * BigInt(share) / 1000n);
      if (reached.length === 0) continue;
      const highest = Math.max(...reached);
      const start = each.per === "hour" ? Math.floor(now / HOUR) * HOUR : each.from;
      const window = `${each.budgetId} ${each.counter}@${start}#`;
      if ((this.warned.get(window) ?? -1) >= highest) continue;
      this.warned.set(window, highest);
      this.warnings.push(`${window}${String(highest).padStart(4, "0")}`);
    }
  }
}
