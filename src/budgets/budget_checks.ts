import { and, eq, inArray } from "drizzle-orm";
import type { BudgetCheck } from "../contract/budgets/budget_checks.ts";
import { type Clock, toIso } from "../kernel/clock.ts";
import { toUsd } from "../kernel/money.ts";
import { nameField, type Names, readNames } from "../keys/mod.ts";
import { BUDGETED } from "../contract/costs/dimensions.ts";
import {
  ALL_CALLS,
  ALL_SEEING,
  isScopeBy,
  ownsScope,
  partsBy,
  readRootSession,
  scopeIn,
  type Scopes,
  scopeText,
  shapedScopeOf,
  type Viewer,
} from "../ledger/mod.ts";
import type { CallSubjects } from "./call_to_decide.ts";
import { type Query, type Store, tables } from "../store/mod.ts";
import { calendarIn } from "../contract/windows.ts";
import { countersOf, hasCounters } from "./budget_counters.ts";
import type { BudgetRow } from "./budget_fields.ts";
import { counterOf as describeCounter, describeFigures, type Figures, readFigures } from "./budget_states.ts";
import { readOpenTicket } from "./tickets/open_tickets.ts";

/** The agent, session, key and other subjects of a call to check; one that is not given is that of no budget. */
type CheckedCall = Partial<Scopes> & { subjects?: Partial<CallSubjects> };

const ASKED = (name: string) => `(CAST(?1 AS TEXT) ->> '${name}')`;
const SHAPED = `SELECT shape, scope FROM (SELECT s.shape, ${
  shapedScopeOf({
    ...partsBy(({ property }) => ASKED(property)),
    tags: ASKED("tags"),
    isOf: (billing) => `${billing} = ${ASKED("billing")}`,
  })
} AS scope FROM spend_shapes s) shaped WHERE scope IS NOT NULL`;

/** Reads the scopes of a call by the shapes of budgets. */
async function readShaped(
  { store }: { store: Store },
  { subjects, ...scopes }: CheckedCall,
): Promise<Map<string, string>> {
  const tree = scopes.sessionId == null ? null : await readRootSession({ store }, scopes.sessionId);
  const { rows } = await store.read({
    sql: SHAPED,
    args: [JSON.stringify({ ...scopes, ...subjects, tree })],
  });
  return new Map(rows as [string, string][]);
}

const { agents, budgets } = tables;

/**
 * Returns the budgets that apply to a call, the one with the least left first. It reserves nothing. A viewer of one agent gets no
 * amounts of counters over all agents.
 */
export async function checkBudgets(
  ctx: { store: Store; query: Query; clock: Pick<Clock, "now"> },
  call: CheckedCall,
  viewer: Viewer = ALL_SEEING,
): Promise<BudgetCheck[]> {
  const { agentId } = call;
  const shaped = await readShaped(ctx, call);
  const own = [...BUDGETED.flatMap((kind) => scopeIn(kind, call) ?? []), ...shaped.values()];
  const matching = await ctx.query.select().from(budgets)
    .where(and(eq(budgets.enabled, true), inArray(budgets.scope, [ALL_CALLS, ...own])));

  const counterOf = (row: BudgetRow) => {
    if (row.shape !== null) return shaped.get(row.shape);
    const kind = countersOf(row);
    return kind === undefined ? row.scope : scopeIn(kind, call) ?? undefined;
  };
  const applies = (row: BudgetRow) => {
    const scope = counterOf(row);
    // Agents and keys have a counter from the start; a call without a key has none in a budget of each key.
    if (scope === undefined) return row.each === null || row.each === "session";
    const isNamed = (other: BudgetRow) =>
      other.scope === scope && other.per === row.per && other.each === null;
    return row.each === null || !matching.some(isNamed);
  };
  const isHidden = (counter: string | undefined) =>
    counter !== undefined && (counter === ALL_CALLS || isScopeBy(counter)) && !ownsScope(viewer, counter);
  const rows: AppliedBudget[] = [
    ...matching.filter(applies).map((row) => {
      const counter = counterOf(row);
      return {
        ...row,
        counter,
        one: hasCounters(row) && counter ? describeCounter(row, counter) ?? null : null,
      };
    }),
    ...agentId === undefined ? [] : await runBudgetOf(ctx.query, agentId),
  ];
  const [figures, names] = await Promise.all([
    readFigures(ctx, rows.map((row) => ({ row, scope: row.counter }))),
    readNames(ctx, rows.map(({ counter }) => counter)),
  ]);
  const checks = await Promise.all(rows.map(async (row, index) => {
    const check = toCheck(row, figures[index]!, names);
    const isAsking = row.action === "ask" && check.state === "reached";
    return { row, check: isAsking ? { ...check, ...await ticketOf(ctx, row) } : check };
  }));
  return checks
    .sort((a, b) => a.check.left_usd - b.check.left_usd)
    .map(({ row, check }) => isHidden(row.counter) ? withoutAmounts(check) : check);
}

/** A budget, or an agent's limit of each run, with the counter in which the call would count. */
type AppliedBudget =
  & Pick<
    BudgetRow,
    "per" | "each" | "mode" | "action" | "limitNanoUsd" | "warnAt" | "countsFrom" | "calendar"
  >
  & {
    budgetId: string | null;
    name: string | null;
    counter: string | undefined;
    one: BudgetCheck["counter"];
  };

/** Returns the ticket of a budget that asks, as a check has it. */
async function ticketOf(
  { store, clock }: Parameters<typeof checkBudgets>[0],
  { budgetId, counter }: AppliedBudget,
): Promise<Partial<BudgetCheck>> {
  const ticket = counter === undefined
    ? undefined
    : await readOpenTicket({ store }, { budgetId: budgetId!, scope: counter }, clock.now());
  if (ticket === undefined) return { ticket_id: null };
  const { ticketId, state, deniedUntil } = ticket;
  return {
    ticket_id: ticketId,
    ticket_state: state,
    ...(deniedUntil !== undefined && { asks_again_at: toIso(deniedUntil) }),
  };
}

const AMOUNTS = ["extra_usd", "spent_usd", "reserved_usd", "left_usd", "unpriced_calls"] as const;

function withoutAmounts(check: BudgetCheck): BudgetCheck {
  const rest = { ...check };
  for (const name of AMOUNTS) delete rest[name];
  return rest;
}

function toCheck(row: AppliedBudget, figures: Figures, names: Names) {
  return {
    budget_id: row.budgetId,
    name: row.name,
    per: row.per,
    scope: row.counter === undefined
      ? `new ${row.per === "run" || row.per === "tree" ? row.per : "session"}`
      : scopeText(row.counter),
    ...nameField(names, row.counter),
    mode: row.mode,
    action: row.action,
    counter: row.one,
    limit_usd: toUsd(row.limitNanoUsd),
    time_zone: calendarIn(row.calendar).timeZone,
    ...describeFigures(row, figures),
  };
}

/** Returns the limit that an agent's definition has for each of its runs. */
async function runBudgetOf(query: Query, agentId: string): Promise<AppliedBudget[]> {
  const [agent] = await query.select().from(agents).where(eq(agents.agentId, agentId));
  if (!agent || agent.costBudgetNanoUsd === null) return [];
  return [{
    budgetId: null,
    name: null,
    per: "run",
    each: null,
    mode: agent.budgetMode,
    action: "refuse",
    limitNanoUsd: agent.costBudgetNanoUsd,
    warnAt: [],
    countsFrom: null,
    calendar: null,
    counter: undefined,
    one: null,
  }];
}
