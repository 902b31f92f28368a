import { inArray, sql } from "drizzle-orm";
import { checkAgentName, findAgentTags } from "../agents/mod.ts";
import type { BookedReport } from "../contract/cost_events.ts";
import { MAX_CALL_USD } from "../contract/limits.ts";
import {
  scrubTags,
  TAG_LIMITS,
  type Tags,
  tagsText,
  withAgentTags,
  withKeyTags,
} from "../contract/tags/tags.ts";
import type { CallSource } from "../contract/values.ts";
import { DAY_MS } from "../kernel/clock.ts";
import { invalidField, messageOf, PurserError } from "../kernel/errors.ts";
import { type NanoUsd, roundUsd } from "../kernel/money.ts";
import {
  MAX_AHEAD_MS,
  type ModelCall,
  recordPrices,
  type Scopes,
  toModelCall,
  toOtherModels,
  valueOf,
  withAdjustments,
} from "../ledger/mod.ts";
import { checkUsage, hasQuantity, type Price, USAGE_DETAILS, USAGE_FIELDS } from "../pricing/mod.ts";
import { ConstraintError, requireThat, tables } from "../store/mod.ts";
import { FORGET_HEADROOM } from "../budgets/reservations/mod.ts";
import { bookLooseCalls } from "./book_call.ts";
import type { Booking } from "./booking_set.ts";
import { amendCalls } from "./sightings/entries.ts";
import { DAY_OF_CALL, hasAnswerId, NEAR_DAYS, NOTE_SIGHTINGS } from "./sightings/known_calls.ts";
import { isPlaceholder } from "./sightings/match_calls.ts";
import type { CallContext } from "./context.ts";
import { type MadeCall, makeCall, MAX_CALL_NANO_USD, payByPlan, priceCall } from "./make_call.ts";

const { calls: ledger } = tables;

/**
 * Books calls that were made elsewhere, all or none, with the tags that the reporter's key gives them. Idempotent by `callId`: a call
 * that is in the ledger with the same content is not booked again, whatever its source was.
 *
 * @throws {PurserError} `invalid`; `conflict` if a call is in the ledger with other content
 */
export async function reportCalls(
  ctx: CallContext,
  source: CallSource,
  reports: readonly ReportedCall[],
  keyTags?: Tags,
): Promise<BookedReport> {
  await ctx.prices.ready?.();
  const { calls, repeated } = withoutRepeats(
    reports.map((report, index) =>
      toCall(ctx, source, keyTags ? { ...report, tags: ownTags(report, keyTags) } : report, `[${index}]`)
    ),
  );
  const reservations = new Map(
    reports.flatMap(({ callId, agentId, reservationId }) =>
      reservationId === undefined ? [] : [[callId, { reservationId, agentId }]]
    ),
  );
  // Booked without a lookup: nearly every report is new, and the ledger refuses duplicates.
  let left: Left = { fresh: calls, grown: [] };
  for (let attempt = 1;; attempt++) {
    const answered = await findAnswered(ctx, left.fresh);
    const fresh = left.fresh.filter(({ callId }) => !answered.has(callId));
    const { grown } = left;
    const settles = [...fresh, ...grown.map(({ to }) => to)].flatMap(({ callId }) =>
      reservations.get(callId) ?? []
    );
    if (fresh.length > 0 || grown.length > 0) {
      const tagged = await addTags(ctx, fresh, keyTags);
      try {
        const witnessed = witnessedBy(fresh, grown);
        await bookLooseCalls(ctx, tagged, { settles, ...witnessed && { witnessed } });
      } catch (error) {
        if (!(error instanceof ConstraintError) || attempt === MAX_ATTEMPTS) throw error;
        left = await findLeft(ctx, calls);
        continue;
      }
    }
    const booked = [...fresh, ...grown.map(({ to }) => to)];
    return {
      booked: fresh.length,
      duplicates: calls.length - booked.length + repeated,
      ...(grown.length > 0 && { amended: grown.length }),
      unpriced: fresh.filter((call) => call.costNanoUsd === null).length,
    };
  }
}

/** Others may report the same calls at the same time: each attempt finds what they have booked. */
const MAX_ATTEMPTS = 5;

/** The calls of a report that the ledger doesn't have as they are. */
interface Left {
  fresh: readonly ModelCall[];
  /** Calls that it has with a smaller output, or as billed where a plan pays, of the same reporter. */
  grown: readonly { from: ModelCall; to: ModelCall }[];
}

/**
 * The statements that book the differences, and refuse reports of calls that were booked meanwhile; undefined for reports without
 * either. An entry has the id of what it leads to, so that it is booked once.
 */
function witnessedBy(fresh: readonly ModelCall[], grown: Left["grown"]): Booking["witnessed"] {
  const answers = answersOf(fresh);
  if (answers.length === 0 && grown.length === 0) return undefined;
  const amended = grown.map(({ from, to }) => ({
    entryId: `amended:${from.callId}:${to.usage.outputTokens}${isOfPlan(to) ? ":plan" : ""}`,
    from,
    to,
  }));
  return {
    before: [
      ...answers.length === 0
        ? []
        : [requireThat({ sql: `NOT EXISTS (${FIND_ANSWERED})`, args: [JSON.stringify(answers)] })],
      ...recordPrices(amended.map(({ to }) => to), new Set()).statements,
      ...amendCalls(amended),
    ],
    after: [
      ...amended.length === 0 ? [] : [FORGET_HEADROOM],
      ...answers.length === 0 ? [] : [NOTE_SIGHTINGS],
    ],
    amended: grown.map(({ to }) => to),
  };
}

const FIND_ANSWERED = `SELECT j.value ->> 2 FROM json_each(?1) j ${NEAR_DAYS} calls c
  ON ${DAY_OF_CALL} = CAST(j.value ->> 0 AS BIGINT) + near.days AND ${hasAnswerId("(j.value ->> 1)")}
WHERE c.source IN ('gateway', 'run', 'meter') AND c.provider = j.value ->> 3`;

const answersOf = (calls: readonly ModelCall[]) =>
  calls.flatMap(({ responseId, at, callId, provider }) =>
    responseId && !isPlaceholder(responseId) ? [[Math.floor(at / DAY_MS), responseId, callId, provider]] : []
  );

/** Finds the reports of calls that the gateway, a run or a meter has booked: those say nothing new. */
async function findAnswered({ store }: CallContext, calls: readonly ModelCall[]): Promise<Set<string>> {
  const answers = answersOf(calls);
  if (answers.length === 0) return new Set();
  const { rows } = await store.read({ sql: FIND_ANSWERED, args: [JSON.stringify(answers)] });
  return new Set(rows.map(([callId]) => callId as string));
}

/** Adds the tags of the agents that are defined here, and those of the reporter's key. */
async function addTags(
  ctx: CallContext,
  calls: readonly ModelCall[],
  keyTags: Tags | undefined,
): Promise<ModelCall[]> {
  const tagsOf = await findAgentTags(ctx, [...new Set(calls.map(({ agentId }) => agentId))]);
  return calls.map((call) => {
    const ofAgent = tagsOf.get(call.agentId);
    if (!ofAgent && !keyTags) return call;
    return { ...call, tags: withKeyTags(withAgentTags(call.tags ?? {}, ofAgent ?? {}), keyTags) };
  });
}

/** Returns the tags of a report that those of its key don't replace: the others are not compared when it is repeated. */
function ownTags({ tags = {} }: ReportedCall, keyTags: Tags): Tags {
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !Object.hasOwn(keyTags, key)));
}

/** Removes the repetitions of a call within one report. */
function withoutRepeats(calls: readonly ModelCall[]): { calls: ModelCall[]; repeated: number } {
  const byId = new Map<string, ModelCall>();
  for (const call of calls) {
    const first = byId.get(call.callId);
    if (first && !isSameReport(first, call)) throw conflict(call.callId, "this request");
    byId.set(call.callId, first ?? call);
  }
  return { calls: [...byId.values()], repeated: calls.length - byId.size };
}

/** Finds the calls that are not in the ledger as they are. */
async function findLeft(ctx: CallContext, calls: readonly ModelCall[]): Promise<Left> {
  const ids = JSON.stringify(calls.map((call) => call.callId));
  const rows = await ctx.query.select().from(ledger)
    .where(inArray(ledger.callId, sql`(SELECT value FROM json_each(${ids}))`));
  const booked = rows.map(toModelCall);
  const present = new Map((await withAdjustments(ctx.query, booked)).map((call) => [call.callId, call]));
  // A report may repeat a call as it was booked, or as it was adjusted since.
  const known = Map.groupBy([...booked, ...present.values()], ({ callId }) => callId);
  const fresh: ModelCall[] = [];
  const grown: { from: ModelCall; to: ModelCall }[] = [];
  for (const call of calls) {
    const same = known.get(call.callId);
    const from = present.get(call.callId);
    if (!same || !from) fresh.push(call);
    else if (!same.some((each) => isSameReport(each, call))) {
      if (!hasGrown(from, call)) throw conflict(call.callId, "the ledger");
      grown.push({ from, to: isOfPlan(from) && !isOfPlan(call) ? { ...call, ...payByPlan(call) } : call });
    }
  }
  return { fresh, grown };
}

const isOfPlan = ({ planNanoUsd }: ModelCall) => planNanoUsd !== undefined;

/**
 * Returns whether a report says more of a call that the same reporter has reported before: a larger output, as of a stream that went
 * on, or that a plan pays for it, and nothing else that differs.
 */
function hasGrown(booked: ModelCall, incoming: ModelCall): boolean {
  const isNowOfPlan = isOfPlan(incoming) && !isOfPlan(booked);
  const more = incoming.usage.outputTokens - booked.usage.outputTokens;
  const saysMore = (more > 0 || (more === 0 && isNowOfPlan)) &&
    incoming.usage.reasoningTokens >= booked.usage.reasoningTokens &&
    USAGE_FIELDS.every((name) =>
      name === "outputTokens" || name === "reasoningTokens" || incoming.usage[name] === booked.usage[name]
    );
  const rest = (call: ModelCall) =>
    comparedContent({
      ...call,
      usage: { ...incoming.usage },
      durationMs: null,
      isEstimated: false,
      tools: [],
      ...(isOfPlan(incoming) && { planNanoUsd: incoming.planNanoUsd }),
    }, incoming);
  return booked.source === "report" && (booked.keyId ?? null) === (incoming.keyId ?? null) && saysMore &&
    (isNowOfPlan || (valueOf(incoming) ?? 0n) >= (valueOf(booked) ?? 0n)) && rest(booked) === rest(incoming);
}

function conflict(callId: string, where: string): PurserError {
  return new PurserError(
    "conflict",
    `Cannot book call ${callId}: it is in ${where} with other content; nothing of this request was booked`,
    { details: { call_id: callId } },
  );
}

/** The price source of a call that was reported with its cost. */
const REPORTED = "reported";

/** The report of a call that was made elsewhere. */
export interface ReportedCall extends Scopes, Omit<MadeCall, "isEstimated"> {
  tags?: Tags;
  /** True if the tokens are an estimate; default false. */
  isEstimated?: boolean;
  /** Its cost, also that by the API of a call that a plan pays for; without one it is priced here. */
  costUsd?: number | null;
  /** True if a plan pays for it. */
  isPlan?: boolean;
  /** The parts of the usage that `costUsd` leaves out. */
  unpricedParts?: readonly string[];
  /** The cost at known prices, where `costUsd` is the one that the provider has stated. */
  listCostUsd?: number;
  /** A cost that the provider has stated, where it isn't `costUsd`. */
  statedCostUsd?: number;
  /** The reservation that the call settles. */
  reservationId?: string;
}

/**
 * Converts a report to a call of the ledger: checks it, and prices it unless it has a cost.
 *
 * @throws {PurserError} `invalid`, naming the path of the element
 */
function toCall(ctx: CallContext, source: CallSource, report: ReportedCall, path: string): ModelCall {
  for (const [field, text] of textFieldsOf(report)) {
    if (!text.isWellFormed() || text.includes("\0")) {
      throw invalid(`${path}.${field}`, "it holds a character that a database can't store");
    }
  }
  check(`${path}.agent_id`, () => checkAgentName(report.agentId));
  if (report.at < 0) throw invalid(`${path}.at`, "it is before 1970");
  if (report.at > ctx.clock.now() + MAX_AHEAD_MS) {
    throw invalid(`${path}.at`, "it is more than five minutes ahead of this server's clock");
  }
  check(path, () => checkUsage(report.usage));
  if (Object.keys(report.tags ?? {}).length > TAG_LIMITS.tags) {
    throw invalid(`${path}.tags`, `it has more than ${TAG_LIMITS.tags} tags beside those of the API key`);
  }
  const costField = `${path}.${report.isPlan ? "plan_usd" : "cost_usd"}`;
  const price = reportedPrice(ctx, report, costField, path);
  if (price.costNanoUsd !== null && price.costNanoUsd > MAX_CALL_NANO_USD) {
    throw invalid(
      price.priceSource === REPORTED ? costField : path,
      `it costs more than ${MAX_CALL_USD} USD`,
    );
  }
  const { costUsd: _, listCostUsd: _l, unpricedParts: _u, reservationId: _r, ...rest } = report;
  const { statedCostUsd, tags, isEstimated = false, isPlan = false, ...call } = rest;
  const stated = statedCostUsd !== undefined &&
    { statedNanoUsd: reportedCost(statedCostUsd, `${path}.stated_cost_usd`) };
  const origin = { source, scopes: report, tags: tags && scrubTags(tags, ctx.secrets) };
  return makeCall(origin, { ...call, isEstimated }, { ...stated, ...isPlan ? payByPlan(price) : price });
}

/** Returns the price of a report: by its own cost, or by the price book. */
function reportedPrice(ctx: CallContext, report: ReportedCall, costField: string, path: string): Price {
  const { costUsd, listCostUsd, unpricedParts } = report;
  if (costUsd === undefined || costUsd === null) return priceCall(ctx.prices, report);
  const reported: Price = {
    costNanoUsd: reportedCost(costUsd, costField),
    priceSource: REPORTED,
    rates: null,
    ...(unpricedParts && { unpricedParts }),
    ...(listCostUsd !== undefined && { listCostNanoUsd: reportedCost(listCostUsd, `${path}.list_cost_usd`) }),
  };
  return priceInsteadOfZero(ctx, report) ?? reported;
}

/**
 * Returns the price of a call that is reported with tokens and a cost of 0, if its model has a price: a program reports 0 if it
 * doesn't know the price. For a model without a price, only the reporter knows the cost.
 */
function priceInsteadOfZero(ctx: CallContext, report: ReportedCall): Price | undefined {
  if (report.costUsd !== 0 || !hasQuantity(report.usage)) return undefined;
  const price = priceCall(ctx.prices, report);
  return price.costNanoUsd ? { ...price, statedNanoUsd: 0n, statedReason: "zero" } : undefined;
}

/** Adds the path of the element to the error of a check. */
function check(path: string, run: () => void): void {
  try {
    run();
  } catch (error) {
    throw invalid(path, messageOf(error));
  }
}

function textFieldsOf(report: ReportedCall): [field: string, text: string][] {
  return [
    ["call_id", report.callId],
    ["agent_id", report.agentId],
    ["session_id", report.sessionId ?? ""],
    ["run_id", report.runId ?? ""],
    ["provider", report.provider],
    ["model", report.model],
    ["response_id", report.responseId ?? ""],
    ...report.tools.map((tool, index): [string, string] => [`tools.${index}`, tool]),
  ];
}

function reportedCost(costUsd: number, where: string): NanoUsd {
  const nano = roundUsd(costUsd, where);
  if (nano < 0n) throw invalid(where, "it is negative");
  return nano;
}

/**
 * Returns whether a report has the same content as a booked call. Without a cost in the report, prices are not compared, so
 * that a report can be repeated after prices have changed. With one, the costs must be equal whatever their source, so that
 * the cost event of a booked call can be reported back.
 */
function isSameReport(booked: ModelCall, incoming: ModelCall): boolean {
  // Either of them may be a reported 0 in whose place a price was booked.
  const isSameCost = incoming.priceSource === REPORTED
    ? valueOf(incoming) === valueOf(booked) || (valueOf(incoming) === 0n && booked.statedNanoUsd === 0n)
    : booked.priceSource !== REPORTED || (valueOf(booked) === 0n && incoming.statedNanoUsd === 0n);
  // Cost events don't have these tokens, so 0 matches any number.
  const { cacheWrite1hTokens } = incoming.usage;
  const isSameCacheWrite = cacheWrite1hTokens === 0 || cacheWrite1hTokens === booked.usage.cacheWrite1hTokens;
  return isSameCost && isSameCacheWrite &&
    comparedContent(booked, incoming) === comparedContent(incoming, incoming);
}

/** Returns the content of a call to compare with a report. Tier, speed, region and tags are compared only if the report has them. */
function comparedContent(call: ModelCall, as: ModelCall): string {
  const { usage } = call;
  return JSON.stringify([
    call.at,
    call.agentId,
    call.sessionId,
    call.runId,
    call.step,
    call.tools,
    call.provider,
    call.model,
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadTokens,
    usage.cacheWriteTokens,
    usage.reasoningTokens,
    USAGE_DETAILS.map((name) => usage.details?.[name] ?? 0),
    Object.entries(usage.others ?? {}).sort(),
    usage.models && toOtherModels(usage.models),
    as.serviceTier && call.serviceTier,
    as.speed && call.speed,
    as.inferenceGeo && call.inferenceGeo,
    isOfPlan(as) && isOfPlan(call),
    as.tags && call.tags && tagsText(ofKeys(call.tags, as.tags)),
    call.durationMs === null ? null : Math.round(call.durationMs),
    call.isEstimated,
  ]);
}

/** Returns the tags whose keys `others` has, too. The rest may be tags of the agent. */
function ofKeys(tags: Tags, others: Tags): Tags {
  return Object.fromEntries(Object.entries(tags).filter(([key]) => Object.hasOwn(others, key)));
}

function invalid(path: string, problem: string): PurserError {
  return invalidField(path, problem, `Cannot book the calls: ${path}: ${problem}`);
}
