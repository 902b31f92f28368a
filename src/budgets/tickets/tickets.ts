import { and, eq, inArray, or, type SQL, sql } from "drizzle-orm";
import type { Approval, ApproveBody, DenyBody } from "../../contract/budgets/approvals.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { toUsd } from "../../kernel/money.ts";
import { withNames } from "../../keys/mod.ts";
import { counterIn, scopeFields, type Viewer } from "../../ledger/mod.ts";
import type { Tags } from "../../contract/tags/tags.ts";
import type { TicketState } from "../../contract/values.ts";
import {
  auditEntry,
  ConstraintError,
  newestFirst,
  requireThat,
  type Statement,
  tables,
  type TimePosition,
} from "../../store/mod.ts";
import { counterOf } from "../budget_states.ts";
import { hasAsked } from "./open_tickets.ts";
import { type BudgetContext, editOf, writeBudgets } from "../budgets.ts";
import { raiseBudget } from "../raises.ts";

/* The tickets of budgets, as people read and answer them. A ticket is answered once: by one conditional write. */

const { budgets, budgetTickets } = tables;

const LIST = newestFirst(budgetTickets.askedAt, budgetTickets.ticketId);

/** Who reads or answers tickets: what a key of one agent sees, and the tags that narrow a key to the calls with them. */
export interface TicketReader {
  viewer: Viewer;
  /** Undefined for every ticket. */
  tags?: Tags | undefined;
}

type ReadContext = Pick<BudgetContext, "query"> & {
  store: Pick<BudgetContext["store"], "read">;
  clock: Pick<BudgetContext["clock"], "now">;
};

/** Matches the tickets of a reader. */
function isSeenBy({ viewer: { agentId, keyId }, tags = {} }: TicketReader): SQL | undefined {
  return and(
    agentId === undefined
      ? undefined
      : or(eq(budgetTickets.agentId, agentId), keyId === null ? undefined : eq(budgetTickets.keyId, keyId)),
    ...Object.entries(tags).map(([key, value]) =>
      sql`${budgetTickets.tags} ->> ${sql.raw(`'${key}'`)} = ${value}` // a key has none of the characters of a text's end
    ),
  );
}

const isOver = (now: number) =>
  sql`${budgetTickets.state} = 'waiting' AND ${budgetTickets.expiresAt} <= ${now}`;

const isState = (state: TicketState, now: number): SQL =>
  state === "waiting"
    ? sql`${budgetTickets.state} = 'waiting' AND ${budgetTickets.expiresAt} > ${now}`
    : state === "expired"
    ? sql`(${budgetTickets.state} = 'expired' OR ${isOver(now)})`
    : sql`${budgetTickets.state} = ${state}`;

/** Lists tickets, newest first. */
export async function listTickets(
  ctx: ReadContext,
  { reader, state, ticketIds, before, limit }: {
    reader: TicketReader;
    state?: TicketState | undefined;
    ticketIds?: readonly string[];
    before?: TimePosition | undefined;
    limit: number;
  },
): Promise<Approval[]> {
  const now = ctx.clock.now();
  const rows = await ctx.query.select({ ticket: budgetTickets, budget: budgets }).from(budgetTickets)
    .innerJoin(budgets, eq(budgets.budgetId, budgetTickets.budgetId))
    .where(and(
      isSeenBy(reader),
      state && isState(state, now),
      ticketIds && inArray(budgetTickets.ticketId, [...ticketIds]),
      LIST.from(before),
    ))
    .orderBy(...LIST.order).limit(limit);
  const approvals = rows.map(({ ticket, budget }): Approval => {
    const counter = counterOf(budget, ticket.scope) ?? counterIn(ticket.scope);
    const time = (at: number | null) => at === null ? null : toIso(at);
    return {
      ticket_id: ticket.ticketId,
      state: ticket.state === "waiting" && ticket.expiresAt <= now ? "expired" : ticket.state,
      budget_id: ticket.budgetId,
      budget_name: budget.name,
      counter: counter ?? null,
      asked_usd: toUsd(ticket.askedNanoUsd),
      cost_usd: toUsd(ticket.costNanoUsd),
      ...scopeFields(ticket),
      agent_id: ticket.agentId,
      provider: ticket.provider,
      model: ticket.model,
      tags: ticket.tags ?? {},
      asked_at: toIso(ticket.askedAt),
      expires_at: toIso(ticket.expiresAt),
      decided_at: time(ticket.decidedAt),
      decided_by: ticket.decidedBy,
      reason: ticket.reason,
      raise_id: ticket.raiseId,
    };
  });
  return await withNames(ctx, approvals, reader.viewer);
}

/** Returns one ticket. Throws `not_found`, also for one that the reader may not see. */
export async function getTicket(ctx: ReadContext, ticketId: string, reader: TicketReader): Promise<Approval> {
  const [ticket] = await listTickets(ctx, { reader, ticketIds: [ticketId], limit: 1 });
  if (!ticket) throw new PurserError("not_found", `Cannot find the ticket ${ticketId}`);
  return ticket;
}

const DECIDE =
  `UPDATE budget_tickets SET state = ?2, decided_at = ?3, decided_by = ?4, decided_key_id = ?5, reason = ?6,
  raise_id = ?7 WHERE ticket_id = ?1`;
const IS_WAITING =
  "EXISTS (SELECT 1 FROM budget_tickets WHERE ticket_id = ?1 AND state = 'waiting' AND expires_at > ?2)";

/** Returns the statements that answer a ticket, or fail the commit where it doesn't wait any more. */
function decide(
  { author, clock }: Pick<BudgetContext, "author" | "clock">,
  ticketId: string,
  { state, reason, raiseId }: { state: TicketState; reason: string; raiseId: string | null },
): Statement[] {
  const now = clock.now();
  const { name = null, keyId = null } = author;
  return [
    requireThat({ sql: IS_WAITING, args: [ticketId, now] }),
    { sql: DECIDE, args: [ticketId, state, now, name, keyId, reason, raiseId] },
  ];
}

/**
 * Approves a ticket by a raise of its counter. Neither the key of a call that waits for it nor another key of the same person may.
 *
 * @throws {PurserError} `not_found`; `forbidden` for one's own; `conflict` where it doesn't wait any more, with who has answered it
 */
export async function approveTicket(
  ctx: BudgetContext,
  ticketId: string,
  { extra_usd, until, reason }: ApproveBody,
  reader: TicketReader,
): Promise<Approval> {
  const ticket = await getTicket(ctx, ticketId, reader);
  const { rows: [row] } = await ctx.store.read({
    sql: "SELECT scope FROM budget_tickets WHERE ticket_id = ?",
    args: [ticketId],
  });
  const asked = hasAsked(ticketId, ctx.author);
  const isOwn = async () =>
    asked !== undefined &&
    (await ctx.store.read({ ...asked, sql: `SELECT 1 WHERE ${asked.sql}` })).rows.length > 0;
  const refuseOwn = () =>
    new PurserError(
      "forbidden",
      `Cannot approve ticket ${ticketId}: this API key, or another one of the same person, has asked; another person has to`,
    );
  if (await isOwn()) throw refuseOwn();
  if (ticket.state !== "waiting") throw isAnswered(ticket, "approve");
  try {
    const raise = { extra_usd: extra_usd ?? ticket.asked_usd, until: until ?? null, reason };
    await raiseBudget(ctx, ticket.budget_id, raise, {
      ticket: {
        ticketId,
        scope: row![0] as string,
        approve: (raiseId) => [
          ...decide(ctx, ticketId, { state: "approved", reason, raiseId }),
          ...asked ? [requireThat({ ...asked, sql: `NOT ${asked.sql}` })] : [],
        ],
      },
    });
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    if (await isOwn()) throw refuseOwn();
    const present = await getTicket(ctx, ticketId, reader);
    if (present.state !== "waiting") throw isAnswered(present, "approve");
    throw new PurserError(
      "conflict",
      `Cannot approve ticket ${ticketId}: the raises of budget ${ticket.budget_id} at a time can't exceed a billion USD`,
    );
  }
  return await getTicket(ctx, ticketId, reader);
}

/**
 * Denies a ticket: every call that waits for it is refused, and its counter isn't asked for again for a while.
 *
 * @throws {PurserError} `not_found`; `conflict` where it doesn't wait any more, with who has answered it
 */
export async function denyTicket(
  ctx: BudgetContext,
  ticketId: string,
  { reason }: DenyBody,
  reader: TicketReader,
): Promise<Approval> {
  const ticket = await getTicket(ctx, ticketId, reader);
  if (ticket.state !== "waiting") throw isAnswered(ticket, "deny");
  const edit = editOf(ctx);
  try {
    await writeBudgets(ctx, [
      ...decide(ctx, ticketId, { state: "denied", reason, raiseId: null }),
      auditEntry(edit, {
        action: "denied",
        kind: "budget",
        id: ticket.budget_id,
        name: ticket.budget_name,
        after: { ticket_id: ticketId, asked_usd: ticket.asked_usd, reason },
      }),
    ]);
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw isAnswered(await getTicket(ctx, ticketId, reader), "deny");
  }
  return await getTicket(ctx, ticketId, reader);
}

/** Returns the error for a ticket that doesn't wait any more. */
function isAnswered(ticket: Approval, action: "approve" | "deny"): PurserError {
  const { ticket_id, state, decided_by, decided_at, expires_at } = ticket;
  const by = decided_by === null ? "" : ` by ${decided_by}`;
  const what = state === "expired" ? `it expired at ${expires_at}` : `it was ${state}${by} at ${decided_at}`;
  return new PurserError("conflict", `Cannot ${action} ticket ${ticket_id}: ${what}`, {
    details: { ticket_id, state, decided_by, decided_at },
  });
}
