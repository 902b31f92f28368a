import { toIso } from "../kernel/clock.ts";
import { BudgetExceededError } from "../kernel/errors.ts";
import { formatUsd, toUsd } from "../kernel/money.ts";
import { quoteForShell } from "../kernel/quote_for_shell.ts";
import { nameField, type Names } from "../keys/mod.ts";
import {
  ALL_CALLS,
  ALL_SEEING,
  counterIn,
  entityOf,
  ownsScope,
  scopeOf,
  scopeText,
  SEES_NOTHING,
  type Viewer,
  viewerOf,
} from "../ledger/mod.ts";
import { nameOfValue } from "../contract/costs/dimensions.ts";
import type { BudgetPeriod } from "../contract/values.ts";
import { calendarIn } from "../contract/windows.ts";
import { timeIn } from "../contract/calendars/zones.ts";
import type { CallScopes } from "./call_to_decide.ts";
import type { Statement } from "../store/mod.ts";
import type { TicketRef } from "./tickets/open_tickets.ts";
import {
  type CallBounds,
  ceilingOf,
  leftOf,
  type Refusal,
  reservedOf,
  type Standing,
  worstOf,
} from "./decide_call.ts";

/** Returns whether a watching budget would have refused a call. The state includes the reservation of the call itself. */
export function wouldRefuse(standing: Standing, call: CallBounds): boolean {
  if (standing.settledNanoUsd >= ceilingOf(standing)) return true;
  if (call.isUnpriced) return !standing.allowUnpriced;
  if (standing.mode === "stop") return false;
  return worstOf(call) === null || leftOf(standing) < 0n;
}

const COUNT =
  `UPDATE budgets SET refused_calls = refused_calls + 1, last_refused_at = max(coalesce(last_refused_at, 0), ?2)
WHERE budget_id IN (SELECT value FROM json_each(?1))`;

/** Returns the statement that adds one to the refused calls of budgets. */
export function countRefusals(standings: readonly Pick<Standing, "budgetId">[], now: number): Statement[] {
  const ids = standings.flatMap(({ budgetId }) => budgetId ?? []);
  return ids.length === 0 ? [] : [{ sql: COUNT, args: [JSON.stringify(ids), now] }];
}

/** A refused call, for its error. */
export interface RefusedCall {
  /** The start of the message: `Cannot make the next model call of run …`. */
  action: string;
  refusals: readonly Refusal[];
  /** The reason that the call has no bound. */
  because?: string;
  /** The model that was to be called, and the nearest name with a price where it has none. */
  model?: RefusedModel;
  /** Its agent and key, and the runs above its own. */
  scopes: Pick<CallScopes, "agentId" | "keyId" | "above">;
  /** The names in the scopes of the budgets that refuse it. */
  names: Names;
  /** Its caller. Of a budget whose amounts it may not see, it gets the limit alone. */
  viewer: Viewer;
  /** The agent whose keys read the log of the refusal, so that it may have that agent's amounts: see `findLogOwner()`. */
  logOwner: string | null;
  /** The cost of the run so far, which is given instead of amounts that the caller may not see; null outside of a run. */
  runCostNanoUsd: bigint | null;
}

/** The model of a refused call. */
export interface RefusedModel {
  provider: string;
  model: string;
  nearest?: string | undefined;
}

/**
 * Returns the error for a refused call: the tightest budget in its message, all of them in `details.refused_by`. Its
 * `logged` has the amounts that a key of the call's agent may see, also where another caller has made the call.
 */
export function budgetExceeded(refused: RefusedCall): BudgetExceededError {
  const { scopes: { keyId }, model, viewer, logOwner } = refused;
  const { message, details } = describe(refused, viewer);
  const whole = describe(refused, ALL_SEEING);
  return new BudgetExceededError(message, details, {
    ...describe(refused, logOwner === null ? SEES_NOTHING : viewerOf({ agentId: logOwner })),
    facts: {
      reason: refused.refusals[0]!.reason,
      ...(model && { provider: model.provider, model: model.model }),
    },
    withheld: { message: whole.message, ...(keyId != null && { key_id: keyId }), ...whole.details },
  });
}

function describe(refused: RefusedCall, viewer: Viewer) {
  const { action, refusals, because, model, scopes: { agentId, above = [] }, runCostNanoUsd, names } =
    refused;
  const { standing, ...first } = refusals[0]!;
  const agentsAbove = new Map(above.map(({ runId, agentId }) => [scopeOf("run", runId), agentId]));
  const isHiddenOf = ({ scope }: Standing) => {
    if (viewer.seesAll) return false;
    const entity = entityOf(scope);
    if (entity?.kind === "run" || entity?.kind === "session") {
      return !viewer.sees({ agentId: agentsAbove.get(scope) ?? agentId });
    }
    return !ownsScope(viewer, scope);
  };
  const isAbove = ({ scope }: Standing) => agentsAbove.has(scope);
  const isHidden = isHiddenOf(standing);
  /** A viewer of one agent is shown the name of its own key only. */
  const namesOf = (standing: Standing) => isHiddenOf(standing) ? new Map() : names;
  const others = refusals.length - 1;
  const more = ["", "; another budget refuses it too"][others] ?? `; ${others} other budgets refuse it too`;
  const facts = { because, isHidden, model };
  const sentence = standing.budgetId === null
    ? runSentence(standing, first.reason, { ...facts, isAbove: isAbove(standing) })
    : budgetSentence({ standing, ...first }, { ...facts, names: namesOf(standing) });
  const isOwnOnly = refusals.every(({ standing }) => standing.budgetId === null && !isAbove(standing));
  const spent = isHidden ? runCostNanoUsd : standing.settledNanoUsd;
  const ticketId = refusals.find(({ ticket }) => ticket)?.ticket?.ticketId;
  const isUnpriced = refusals.some(({ reason }) => reason === "unpriced");
  return {
    message: `${action}: ${sentence}${more}`,
    details: {
      cost_usd_so_far: (spent === null ? null : toUsd(spent)) as number,
      budget_usd: toUsd(ceilingOf(standing)),
      ...(isUnpriced && model && {
        provider: model.provider,
        model: model.model,
        nearest_model: model.nearest ?? null,
      }),
      ...(!isOwnOnly && {
        ...(ticketId !== undefined && { ticket_id: ticketId }),
        refused_by: refusals.map((each) =>
          toRefusedBy(each, isHiddenOf(each.standing), namesOf(each.standing))
        ),
      }),
    },
  };
}

/** Returns the wire form of a refusal. */
function toRefusedBy(
  { standing, reason, neededNanoUsd, fittingOutputTokens, ticket }: Refusal,
  isHidden: boolean,
  names: Names,
): Record<string, unknown> {
  return {
    budget_id: standing.budgetId,
    name: standing.name,
    per: standing.per,
    scope: scopeText(standing.scope),
    ...nameField(names, standing.scope),
    limit_usd: toUsd(standing.limitNanoUsd),
    ...(!isHidden && {
      extra_usd: toUsd(standing.extraNanoUsd),
      spent_usd: toUsd(standing.settledNanoUsd),
      reserved_usd: toUsd(reservedOf(standing)),
    }),
    ...(neededNanoUsd !== undefined && { needed_usd: toUsd(neededNanoUsd) }),
    ...(fittingOutputTokens !== undefined && !isHidden && { fitting_output_tokens: fittingOutputTokens }),
    mode: standing.mode,
    reason,
    ...(ticket && {
      ticket_id: ticket.ticketId,
      ticket_state: ticket.state,
      ...(ticket.deniedUntil !== undefined && { asks_again_at: toIso(ticket.deniedUntil) }),
    }),
    resets_at: standing.resetsAt === null ? null : toIso(standing.resetsAt),
  };
}

/** The facts of a sentence beside the amounts. */
interface SentenceFacts {
  because?: string;
  isHidden: boolean;
  model?: RefusedModel;
}

/** Says that a model has no price, and which name with one is the nearest. */
function nameUnpriced(model: RefusedModel | undefined): string {
  if (!model) return "";
  const nearest = model.nearest === undefined ? "" : ` (the nearest with one is ${model.nearest})`;
  return `, and none is known for ${model.provider}:${model.model}${nearest}`;
}

const PERIODS: Record<BudgetPeriod, string> = {
  run: "run",
  session: "session",
  tree: "session with its sub-agents",
  hour: "hour",
  day: "UTC day",
  week: "UTC week",
  month: "UTC month",
  quarter: "UTC quarter",
  "30d": "30 days",
  lifetime: "lifetime",
};

/** Returns the period of a budget as a sentence has it: `UTC day`, `day in Europe/Berlin`. */
function periodText({ per, calendar }: Pick<Standing, "per" | "calendar">): string {
  const { timeZone } = calendarIn(calendar);
  return timeZone === "UTC" ? PERIODS[per] : `${PERIODS[per].replace("UTC ", "")} in ${timeZone}`;
}

/** Says what has become of a ticket, and when to call again. */
function ticketText({ ticketId, state, expiresAt, deniedUntil }: TicketRef): string {
  switch (state) {
    case "denied":
      return `Ticket ${ticketId}, which asked for more, was denied; the budget asks again from ${
        toIso(deniedUntil!)
      } on`;
    case "expired":
      return `Ticket ${ticketId}, which asked for more, expired without an answer; call again to ask again`;
    case "approved":
      return `Ticket ${ticketId}, which asked for more, was approved; call again`;
    case "waiting":
      return `Ticket ${ticketId} asks for more until ${toIso(expiresAt)}; call again once it is approved`;
  }
}

/** Returns the option that raises one of the counters of a budget that has many: without it, all are raised. */
function counterOption({ scope, part }: Standing, names: Names): string {
  const counter = part == null ? undefined : counterIn(scope, part);
  if (counter === undefined) return "";
  return ` --counter ${
    quoteForShell(nameOfValue(counter, { ...nameField(names, scope), key_user: undefined }))
  }`;
}

function budgetSentence(
  { standing, reason, neededNanoUsd, fittingOutputTokens, ticket }: Refusal,
  { because, isHidden, model, names }: SentenceFacts & { names: Names },
): string {
  const { name, per, scope, mode, resetsAt, extraNanoUsd, calendar } = standing;
  const raised = extraNanoUsd === 0n ? "" : `, raised to $${formatUsd(ceilingOf(standing))}`;
  const whose = scope === ALL_CALLS ? "all agents" : scopeText(scope, nameField(names, scope));
  const terms = per === "lifetime" ? "in all" : `per ${periodText(standing)}`;
  const budget = `the ${mode === "strict" ? "strict " : ""}budget “${name}” ($${
    formatUsd(standing.limitNanoUsd)
  } ${terms}, ${whose}${raised})`;
  const amounts = isHidden
    ? "has nothing left"
    : `has $${formatUsd(standing.settledNanoUsd)} spent and $${formatUsd(reservedOf(standing))} reserved`;
  const reset = resetsAt === null ? "" : `; it resets at ${timeIn(calendarIn(calendar).timeZone, resetsAt)}`;
  const remedy = ticket
    ? `. ${ticketText(ticket)}`
    : isHidden
    ? ""
    : `. Raise it with purser budgets raise ${standing.budgetId} --usd AMOUNT${
      counterOption(standing, names)
    }`;
  switch (reason) {
    case "spent":
      return `${budget} ${amounts}${reset}${remedy}`;
    case "would_overshoot":
      return `${budget} ${amounts}, and the next call might cost $${formatUsd(neededNanoUsd ?? 0n)}${
        fittingOutputTokens === undefined || isHidden
          ? ""
          : `; an output limit of ${fittingOutputTokens} tokens would fit`
      }${reset}${remedy}`;
    case "held":
      return `${budget} ${amounts} by calls in progress, which did not end in time; try again later`;
    case "overshot":
      return `${budget} can't be kept: a call of this caller has cost more than its bound, or has a part without a known price` +
        `${reset}${remedy}`;
    case "unbounded":
      return `${budget} needs a call whose cost is bounded, and ${because ?? "this one is not"}`;
    case "unpriced":
      return `${budget} needs a model with a known price${
        nameUnpriced(model)
      }; set it by purser prices set PROVIDER:MODEL --input … --output …, or set allow_unpriced of the budget`;
  }
}

/** Returns the sentence about the budget of a run itself: that of the call, or one above it. */
function runSentence(
  standing: Standing,
  reason: Refusal["reason"],
  { because, isHidden, isAbove, model }: SentenceFacts & { isAbove: boolean },
): string {
  const limit = formatUsd(ceilingOf(standing));
  const run = isAbove ? `${standing.scope} above it` : "it";
  const cost = `${run} has cost $${formatUsd(standing.settledNanoUsd)}`;
  const kind = standing.mode === "strict" ? "strict budget" : "budget";
  const budget = isAbove ? `the ${kind} of $${limit} of ${run}` : `its ${kind} of $${limit}`;
  switch (reason) {
    case "spent":
      return isHidden
        ? `${run} has nothing left of its budget of $${limit}`
        : `${cost} and its budget is $${limit}`;
    case "would_overshoot":
    case "held":
    case "overshot": // the run ends before
      return `${isHidden ? "" : `${cost}, and `}the next call might cost more than is left of ${budget}`;
    case "unbounded":
      return `${budget} needs a call whose cost is bounded, and ${because ?? "this one is not"}`;
    case "unpriced":
      return `${budget} needs a model with a known price${nameUnpriced(model)}`;
  }
}
