import type { BookedReport } from "../contract/cost_events.ts";
import { inArray, sql } from "drizzle-orm";
import { invalidField, messageOf, PurserError } from "../kernel/errors.ts";
import { MAX_AHEAD_MS, type ModelCall, toModelCall, toOtherModels, withAdjustments } from "../ledger/mod.ts";
import { ConstraintError, tables } from "../store/mod.ts";
import { bookLooseCalls } from "./book_call.ts";
import type { CallContext } from "./context.ts";
import { MAX_CALL_USD } from "../contract/limits.ts";
import { scrubTags, type Tags, tagsText, withAgentTags } from "../contract/tags/tags.ts";
import { checkAgentName, findAgentTags } from "../agents/mod.ts";
import { NANO_PER_USD, type NanoUsd, roundUsd } from "../kernel/money.ts";
import { checkUsage, hasQuantity, type Price, USAGE_DETAILS } from "../pricing/mod.ts";

const { calls: ledger } = tables;

/**
 * Books calls made elsewhere, all or none. Idempotent by `call_id`.
 *
 * @throws {PurserError} `invalid`; `conflict` when a call has been booked with other content
 */
export async function bookReportedCalls(
  ctx: CallContext,
  reports: readonly ReportedCall[],
  /** The API key of the caller. */
  { keyId }: { keyId?: string } = {},
): Promise<BookedReport> {
  await ctx.prices.ready?.();
  const { calls, repeated } = withoutRepeats(
    reports.map((report, index) => ({ ...toReportedModelCall(ctx, report, index), ...(keyId && { keyId }) })),
  );
  const reserved = new Map(
    reports.flatMap(({ callId, agentId, reservationId }) =>
      reservationId === undefined ? [] : [[callId, { reservationId, agentId }]]
    ),
  );
  // Booked without a lookup: nearly every report is new, and the ledger refuses duplicates.
  for (let fresh: readonly ModelCall[] = calls;;) {
    if (fresh.length === 0) return { booked: 0, duplicates: reports.length, unpriced: 0 };
    const attributed = await addAgentTags(ctx, fresh);
    try {
      const settles = reserved.size === 0
        ? undefined
        : fresh.flatMap(({ callId }) => reserved.get(callId) ?? []);
      await bookLooseCalls(ctx, attributed, { settles });
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
      const left = await findFresh(ctx, calls);
      if (left.length === fresh.length) throw error;
      fresh = left;
      continue;
    }
    return {
      booked: fresh.length,
      duplicates: calls.length - fresh.length + repeated,
      unpriced: fresh.filter((call) => call.costNanoUsd === null).length,
    };
  }
}

/** Adds the tags of the agents that are defined here. */
async function addAgentTags(ctx: CallContext, calls: readonly ModelCall[]): Promise<ModelCall[]> {
  const tagsOf = await findAgentTags(ctx, [...new Set(calls.map(({ agentId }) => agentId))]);
  return calls.map((call) => {
    const ofAgent = tagsOf.get(call.agentId);
    return ofAgent ? { ...call, tags: withAgentTags(call.tags ?? {}, ofAgent) } : call;
  });
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

/** A booked call, as booked and as adjusted since: a report may repeat either. */
type KnownCall = readonly ModelCall[];

/** Returns the calls that are not in the ledger. */
async function findFresh(ctx: CallContext, calls: readonly ModelCall[]): Promise<ModelCall[]> {
  const known = await findKnown(ctx, calls);
  return calls.filter((call) => !isKnown(call, known));
}

async function findKnown(ctx: CallContext, calls: readonly ModelCall[]): Promise<Map<string, KnownCall>> {
  const ids = JSON.stringify(calls.map((call) => call.callId));
  const rows = await ctx.query.select().from(ledger)
    .where(inArray(ledger.callId, sql`(SELECT value FROM json_each(${ids}))`));
  const booked = rows.map(toModelCall);
  const adjusted = await withAdjustments(ctx.query, booked);
  return new Map(booked.map((call, index) => [call.callId, [call, adjusted[index]!]]));
}

function isKnown(call: ModelCall, known: ReadonlyMap<string, KnownCall>): boolean {
  const booked = known.get(call.callId);
  if (booked === undefined) return false;
  if (booked.some((each) => isSameReport(each, call))) return true;
  throw conflict(call.callId, "the ledger");
}

function conflict(callId: string, where: string): PurserError {
  return new PurserError(
    "conflict",
    `Cannot book call ${callId}: it is in ${where} with other content; nothing of this request was booked`,
    { details: { call_id: callId } },
  );
}

const MAX_CALL_NANO_USD = BigInt(MAX_CALL_USD) * NANO_PER_USD;

/** The price source of a call that was reported with its cost. */
const REPORTED = "reported";

/** The report of a call made elsewhere. */
export interface ReportedCall extends
  Omit<
    ModelCall,
    | "costNanoUsd"
    | "listCostNanoUsd"
    | "statedNanoUsd"
    | "statedReason"
    | "priceSource"
    | "rates"
    | "priceId"
    | "isEstimated"
    | "source"
    | "responseId"
    | "keyId"
  > {
  /** Undefined: Purser prices it. */
  costUsd?: number | null;
  /** The cost at known prices, where `costUsd` is the one that the provider has stated. */
  listCostUsd?: number;
  /** A cost that the provider has stated, where it isn't `costUsd`. */
  statedCostUsd?: number;
  /** True if the tokens are an estimate; default false. */
  isEstimated?: boolean;
  /** The reservation that the call settles. */
  reservationId?: string;
}

/**
 * Converts a report to a call of the ledger: checks it, and prices it unless it has a cost.
 *
 * @throws {PurserError} `invalid`, naming the element
 */
export function toReportedModelCall(ctx: CallContext, report: ReportedCall, index: number): ModelCall {
  const where = `[${index}]`;
  for (const [field, text] of textsOf(report)) {
    if (!text.isWellFormed() || text.includes("\0")) {
      throw invalid(`${where}.${field}`, "it holds a character that a database can't store");
    }
  }
  check(`${where}.agent_id`, () => checkAgentName(report.agentId));
  if (report.at < 0) throw invalid(`${where}.at`, "it is before 1970");
  if (report.at > ctx.clock.now() + MAX_AHEAD_MS) {
    throw invalid(`${where}.at`, "it is more than five minutes ahead of this server's clock");
  }
  check(where, () => checkUsage(report.usage));
  const { costUsd, listCostUsd, statedCostUsd, unpricedParts, reservationId: _, ...call } = report;
  const reported = costUsd === undefined || costUsd === null ? undefined : {
    costNanoUsd: reportedCost(costUsd, `${where}.cost_usd`),
    priceSource: REPORTED,
    ...(unpricedParts && { unpricedParts }),
    ...(listCostUsd !== undefined &&
      { listCostNanoUsd: reportedCost(listCostUsd, `${where}.list_cost_usd`) }),
  };
  const price = reported ? priceInsteadOfZero(ctx, report) ?? reported : priceOf(ctx, report);
  if (price.costNanoUsd !== null && price.costNanoUsd > MAX_CALL_NANO_USD) {
    throw invalid(
      price.priceSource === REPORTED ? `${where}.cost_usd` : where,
      `it costs more than ${MAX_CALL_USD} USD`,
    );
  }
  const tags = call.tags && { tags: scrubTags(call.tags, ctx.secrets) };
  const stated = statedCostUsd !== undefined &&
    { statedNanoUsd: reportedCost(statedCostUsd, `${where}.stated_cost_usd`) };
  return { ...call, ...tags, ...stated, ...price, isEstimated: call.isEstimated ?? false, source: "report" };
}

/**
 * Returns the price of a call that is reported with a cost of 0 though its model has one: 0 beside tokens is no bill, as where a
 * program doesn't know the price. Only the reporter knows what a model without a price costs.
 */
function priceInsteadOfZero(ctx: CallContext, report: ReportedCall): Price | undefined {
  if (report.costUsd !== 0 || !hasQuantity(report.usage)) return undefined;
  const price = priceOf(ctx, report);
  return price.costNanoUsd ? { ...price, statedNanoUsd: 0n, statedReason: "zero" } : undefined;
}

function priceOf(ctx: CallContext, { provider, model, at, usage, ...call }: ReportedCall): Price {
  const serviceTier = call.serviceTier ?? undefined;
  const { speed, inferenceGeo } = call;
  return ctx.prices.price({ provider, model, at, usage, serviceTier, speed, inferenceGeo });
}

/** Adds the path of the element to the error of a check. */
function check(path: string, run: () => void): void {
  try {
    run();
  } catch (error) {
    throw invalid(path, messageOf(error));
  }
}

function textsOf(report: ReportedCall): [field: string, text: string][] {
  return [
    ["call_id", report.callId],
    ["agent_id", report.agentId],
    ["session_id", report.sessionId ?? ""],
    ["run_id", report.runId ?? ""],
    ["provider", report.provider],
    ["model", report.model],
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
export function isSameReport(booked: ModelCall, incoming: ModelCall): boolean {
  // A reported 0 may have become a price since, and the other way round.
  const isSameCost = incoming.priceSource === REPORTED
    ? incoming.costNanoUsd === booked.costNanoUsd ||
      (incoming.costNanoUsd === 0n && booked.statedNanoUsd === 0n)
    : booked.priceSource !== REPORTED || (booked.costNanoUsd === 0n && incoming.statedNanoUsd === 0n);
  // Cost events don't have these tokens, so 0 matches any number.
  const { cacheWrite1hTokens } = incoming.usage;
  const isSameCacheWrite = cacheWrite1hTokens === 0 || cacheWrite1hTokens === booked.usage.cacheWrite1hTokens;
  return isSameCost && isSameCacheWrite && contentOf(booked, incoming) === contentOf(incoming, incoming);
}

/** The content of a call to compare with a report. What the report leaves out of tier, speed, region and tags is not compared. */
function contentOf(call: ModelCall, as: ModelCall): string {
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
    as.tags && call.tags && tagsText(ofKeys(call.tags, as.tags)),
    call.durationMs === null ? null : Math.round(call.durationMs),
    call.isEstimated,
  ]);
}

/** Returns the tags that have a key of others. The rest may be those of the agent. */
function ofKeys(tags: Tags, others: Tags): Tags {
  return Object.fromEntries(Object.entries(tags).filter(([key]) => Object.hasOwn(others, key)));
}

function invalid(path: string, problem: string): PurserError {
  return invalidField(path, problem, `Cannot book the calls: ${path}: ${problem}`);
}
