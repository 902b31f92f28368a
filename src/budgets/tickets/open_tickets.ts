import { ASK_THRESHOLD, type TicketState } from "../../contract/values.ts";
import { TICKET_SECONDS } from "../../contract/limits.ts";
import { tagsText } from "../../contract/tags/tags.ts";
import type { NanoUsd } from "../../kernel/money.ts";
import { COUNTED_COLUMNS, countedOf, countedValuesOf } from "../../ledger/mod.ts";
import type { Author, Statement, Store } from "../../store/mod.ts";
import type { CallScopes } from "../call_to_decide.ts";
import { type CallBounds, ceilingOf, leftOf, type Refusal, type Standing, worstOf } from "../decide_call.ts";

/*
 * The tickets of budgets whose action is ask. A counter has one at a time, however many calls of any number of instances ask; it is
 * written with the alert that notifies people, which the index `budget_tickets_waiting` lets exist once.
 */

/** A ticket of a call that a budget refuses. */
export interface TicketRef {
  ticketId: string;
  state: TicketState;
  expiresAt: number;
  /** Of a denial: until when the budget doesn't ask again. */
  deniedUntil?: number;
}

/** Who notifies people of a ticket. */
export interface AskNotifier {
  /** The channels of this process, as the trigger `alerts_fire` takes them. */
  channels: string;
  /** Called with the alerts of committed tickets. */
  fired(alertIds: string[]): void;
}

/** Returns whether more money would let the call through: a person is asked for nothing else. */
export const isAskable = ({ standing, reason }: Refusal): boolean =>
  standing.action === "ask" && standing.budgetId !== null &&
  (reason === "spent" || reason === "would_overshoot");

/** Returns whether a call may still be let through: no ticket of its refusals is denied, expired or gone. */
export const mayBeApproved = (refusals: readonly Refusal[]): boolean =>
  refusals.every(({ ticket }) => ticket?.state === "waiting" || ticket?.state === "approved");

/**
 * Returns refusals with the tickets that were opened for them before; undefined if one has none, or one that is approved and was not
 * enough. A ticket without an answer in time stays: it is a no.
 */
export function withTickets(
  refusals: readonly Refusal[],
  before: readonly Refusal[] | undefined,
): Refusal[] | undefined {
  const found = refusals.map(({ standing: { budgetId, scope } }) =>
    before?.find(({ standing }) => standing.budgetId === budgetId && standing.scope === scope)?.ticket
  );
  if (!found.every((ticket) => ticket !== undefined && ticket.state !== "approved")) return undefined;
  return refusals.map((refusal, index) => ({ ...refusal, ticket: found[index]! }));
}

/** Returns what a call may cost in a budget: its bound in mode strict, else its estimate. */
const costIn = ({ mode }: Standing, call: CallBounds): NanoUsd =>
  (mode === "strict" ? worstOf(call) : null) ?? call.estimateNanoUsd;

/** Returns the amount that a budget lacks for a call, rounded up to two digits; at least a nano-USD. */
export function lackOf(standing: Standing, call: CallBounds): NanoUsd {
  const missing = costIn(standing, call) - leftOf(standing);
  if (missing <= 0n) return 1n;
  const unit = 10n ** BigInt(Math.max(0, String(missing).length - 2));
  return (missing + unit - 1n) / unit * unit;
}

const { expires, deniedFor } = TICKET_SECONDS;
const OF_COUNTER = "budget_id = ?1 AND scope = ?2";

/** After an approval, a call that has read its budgets before reads them again instead of asking anew. */
const APPROVED_FOR_MS = 5_000;

/** SQL for a ticket that waits, or whose answer still counts: by either, no other one is opened. */
const STANDS = (now: string) =>
  `(state = 'waiting' OR decided_at > ${now} - CASE state WHEN 'denied' THEN ${
    deniedFor * 1_000
  } ELSE ${APPROVED_FOR_MS} END)`;

const EXPIRE = `UPDATE budget_tickets SET state = 'expired'
WHERE ${OF_COUNTER} AND state = 'waiting' AND expires_at <= ?3`;

const ASKED = [
  ...["asked_nano_usd", "cost_nano_usd"],
  ...COUNTED_COLUMNS,
  ...["provider", "model", "tags", "expires_at"],
];
const INSERT = `INSERT INTO budget_tickets (budget_id, scope, asked_at, ticket_id, state, ${ASKED})
SELECT ?1, ?2, ?3, ?4, 'waiting', ${ASKED.map((_, index) => `?${index + 5}`)}
WHERE EXISTS (SELECT 1 FROM budgets WHERE budget_id = ?1)
  AND NOT EXISTS (SELECT 1 FROM budget_tickets WHERE ${OF_COUNTER} AND ${STANDS("CAST(?3 AS BIGINT)")})`;

const NOTIFY =
  `INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity, value_nano_usd,
  ${COUNTED_COLUMNS}, "window", window_start, triggered_at, channels, budget_limit_nano_usd)
SELECT ?1, b.budget_id, b.name, '${ASK_THRESHOLD}', ?6, 'critical', ?3, ${countedOf("t")},
  t.scope || '@' || t.ticket_id || '#', ?4, t.asked_at, ?5, ?6
FROM budget_tickets t JOIN budgets b ON b.budget_id = t.budget_id WHERE t.ticket_id = ?2`;

const JOIN_IN = `INSERT INTO ticket_askers (ticket_id, key_id, run_id)
SELECT ticket_id, ?3, ?4 FROM budget_tickets WHERE ${OF_COUNTER} AND state = 'waiting'
ON CONFLICT DO NOTHING`;

/** SQL for whether a call of the key `?2`, or of a key of the same person, has waited for the ticket `?1`. */
const IS_ASKER = `EXISTS (SELECT 1 FROM ticket_askers a LEFT JOIN api_keys k ON k.key_id = a.key_id
  WHERE a.ticket_id = ?1 AND (a.key_id = ?2
    OR k.tags ->> 'user' = (SELECT o.tags ->> 'user' FROM api_keys o WHERE o.key_id = ?2)))`;

/** Returns the condition that a call of an author, or of a key of the same person, has waited for a ticket; undefined without a key. */
export const hasAsked = (ticketId: string, { keyId }: Author): { sql: string; args: string[] } | undefined =>
  keyId == null ? undefined : { sql: IS_ASKER, args: [ticketId, keyId] };

const READ_OPEN = `SELECT ticket_id, state, expires_at, decided_at FROM budget_tickets
WHERE ${OF_COUNTER} AND ${STANDS("CAST(?3 AS BIGINT)")}
ORDER BY asked_at DESC, ticket_id DESC LIMIT 1`;

/** The parts that tickets are opened with. */
export interface TicketContext {
  store: Pick<Store, "read" | "write">;
  newId(kind: "tkt" | "alert"): string;
  notifier: AskNotifier;
}

/**
 * Opens a ticket for each budget that refuses a call, or joins the one that waits. One that was denied in the last minutes, or
 * approved in the last seconds, stands instead; a budget that was removed meanwhile has none.
 */
export async function openTickets(
  { store, newId, notifier }: TicketContext,
  refusals: readonly Refusal[],
  { scopes, call, at }: { scopes: CallScopes; call: CallBounds; at: number },
): Promise<Refusal[]> {
  const { subjects } = scopes;
  const asked = refusals.map(({ standing }) => ({
    standing,
    ticketId: newId("tkt"),
    alertId: newId("alert"),
  }));
  const units = asked.map(({ standing, ticketId, alertId }): Statement[] => {
    const counter: [string, string] = [standing.budgetId!, standing.scope];
    const expiresAt = Math.min(at + expires * 1_000, standing.resetsAt ?? Infinity);
    return [
      { sql: EXPIRE, args: [...counter, at] },
      {
        sql: INSERT,
        args: [
          ...[...counter, at, ticketId, lackOf(standing, call), costIn(standing, call)],
          ...[...countedValuesOf(scopes), subjects?.provider ?? null, subjects?.model ?? null],
          ...[subjects?.tags ? tagsText(subjects.tags) : null, expiresAt],
        ],
      },
      {
        sql: NOTIFY,
        args: [
          ...[alertId, ticketId, standing.settledNanoUsd, standing.from === 0 ? null : standing.from],
          ...[notifier.channels, ceilingOf(standing)],
        ],
      },
      { sql: JOIN_IN, args: [...counter, scopes.keyId ?? "", scopes.runId ?? ""] },
      { sql: "SELECT 1 FROM alerts WHERE alert_id = ?", args: [alertId] },
      { sql: READ_OPEN, args: [...counter, at] },
    ];
  });
  const results = await store.write(units.flat());
  const length = units[0]!.length;
  const fired = asked.filter((_, index) => results[index * length + length - 2]!.rows.length > 0);
  if (fired.length > 0) notifier.fired(fired.map(({ alertId }) => alertId));
  return refusals.map((refusal, index) => {
    const row = results[index * length + length - 1]!.rows[0];
    return row === undefined ? refusal : { ...refusal, ticket: toRef(row) };
  });
}

function toRef([ticketId, state, expiresAt, decidedAt]: readonly unknown[]): TicketRef {
  return {
    ticketId: ticketId as string,
    state: state as TicketState,
    expiresAt: Number(expiresAt),
    ...(state === "denied" && { deniedUntil: Number(decidedAt) + deniedFor * 1_000 }),
  };
}

const READ = `SELECT ticket_id, state, expires_at, decided_at FROM budget_tickets
WHERE ticket_id IN (SELECT value FROM json_each(?))`;

/** Reads the present states of tickets. One that waited until its time is over has expired. */
export async function readTickets(
  { store }: Pick<TicketContext, "store">,
  ticketIds: readonly string[],
  now: number,
): Promise<Map<string, TicketRef>> {
  const { rows } = await store.read({ sql: READ, args: [JSON.stringify(ticketIds)] });
  return new Map(rows.map((row) => {
    const ref = toRef(row);
    const isOver = ref.state === "waiting" && ref.expiresAt <= now;
    return [ref.ticketId, isOver ? { ...ref, state: "expired" } : ref];
  }));
}

/** Reads the ticket of a counter that waits, or whose answer still counts; undefined where the next call that it lacks money for opens one. */
export async function readOpenTicket(
  { store }: Pick<TicketContext, "store">,
  { budgetId, scope }: { budgetId: string; scope: string },
  now: number,
): Promise<TicketRef | undefined> {
  const { rows } = await store.read({ sql: READ_OPEN, args: [budgetId, scope, now] });
  const ref = rows[0] && toRef(rows[0]);
  return ref?.state === "waiting" && ref.expiresAt <= now ? undefined : ref;
}

/** Returns the statement that expires the tickets of a budget that wait: its counters are others now. */
export const expireTickets = (budgetId: string): Statement => ({
  sql: "UPDATE budget_tickets SET state = 'expired' WHERE budget_id = ? AND state = 'waiting'",
  args: [budgetId],
});

/** Returns the statements that remove the tickets of a budget, with the budget. */
export const forgetTickets = (budgetId: string): Statement[] => [
  {
    sql:
      "DELETE FROM ticket_askers WHERE ticket_id IN (SELECT ticket_id FROM budget_tickets WHERE budget_id = ?)",
    args: [budgetId],
  },
  { sql: "DELETE FROM budget_tickets WHERE budget_id = ?", args: [budgetId] },
];
