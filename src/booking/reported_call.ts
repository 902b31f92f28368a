import { MAX_CALL_USD } from "../contract/limits.ts";
import { checkAgentName } from "../agents/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { MAX_AHEAD_MS, type ModelCall } from "../ledger/mod.ts";
import { type NanoUsd, roundUsd } from "../kernel/money.ts";
import { checkUsage, type Usage } from "../pricing/mod.ts";
import type { BookingContext } from "./context.ts";

const MAX_CALL_NANO_USD = BigInt(MAX_CALL_USD) * 1_000_000_000n;

/** The price source of a call whose cost was reported with it. */
const REPORTED = "reported";

/** A call made elsewhere, as it is reported. */
export interface ReportedCall {
  callId: string;
  at: number;
  agentId: string;
  sessionId: string | null;
  runId: string | null;
  step: number | null;
  tools: readonly string[];
  provider: string;
  model: string;
  usage: Usage;
  /** Undefined: Purser prices it. */
  costUsd?: number | null;
  durationMs: number | null;
  /** Whether the tokens are an estimate; default: they are not. */
  isEstimated?: boolean;
}

/**
 * Brings a report to the ledger's form: checked, and priced where it has no cost of its own.
 *
 * @throws {PurserError} `invalid`, naming the element
 */
export function toReportedModelCall(ctx: BookingContext, report: ReportedCall, index: number): ModelCall {
  const where = `[${index}]`;
  for (const [field, text] of textsOf(report)) {
    if (!text.isWellFormed() || text.includes("\0")) {
      throw invalid(`${where}.${field}`, "it holds a character that a database can't keep");
    }
  }
  check(`${where}.agent_id`, () => checkAgentName(report.agentId));
  if (report.at < 0) throw invalid(`${where}.at`, "it is before 1970");
  if (report.at > ctx.clock.now() + MAX_AHEAD_MS) {
    throw invalid(`${where}.at`, "it is more than five minutes ahead of this server's clock");
  }
  check(where, () => checkUsage(report.usage));
  const { costUsd, ...call } = report;
  const price = costUsd === undefined || costUsd === null
    ? ctx.prices.price({ provider: call.provider, model: call.model, at: call.at, usage: call.usage })
    : { costNanoUsd: reportedCost(costUsd, where), priceSource: REPORTED };
  if (price.costNanoUsd !== null && price.costNanoUsd > MAX_CALL_NANO_USD) {
    throw invalid(
      price.priceSource === REPORTED ? `${where}.cost_usd` : where,
      `it costs more than ${MAX_CALL_USD} USD`,
    );
  }
  return { ...call, ...price, isEstimated: call.isEstimated ?? false, source: "report" };
}

/** Names the element that a check turns down. */
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
  const nano = roundUsd(costUsd, `${where}.cost_usd`);
  if (nano < 0n) throw invalid(`${where}.cost_usd`, "it is negative");
  return nano;
}

/**
 * Whether a report tells of a booked call what is booked. A price is not part of a report without a cost, so
 * that one that comes again after prices have changed is still the same; one with a cost is the same where
 * the cost is, whoever worked it out, so that a booked call's cost event can be reported back.
 */
export function isSameReport(booked: ModelCall, incoming: ModelCall): boolean {
  const isSameCost = incoming.priceSource === REPORTED
    ? incoming.costNanoUsd === booked.costNanoUsd
    : booked.priceSource !== REPORTED;
  // Cost events don't tell of these tokens: 0 may stand for any number of them.
  const { cacheWrite1hTokens } = incoming.usage;
  const isSameCacheWrite = cacheWrite1hTokens === 0 || cacheWrite1hTokens === booked.usage.cacheWrite1hTokens;
  return isSameCost && isSameCacheWrite && contentOf(booked) === contentOf(incoming);
}

function contentOf(call: ModelCall): string {
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
    call.durationMs === null ? null : Math.round(call.durationMs),
    call.isEstimated,
  ]);
}

function invalid(path: string, problem: string): PurserError {
  return new PurserError("invalid", `Cannot book the calls: ${path}: ${problem}`, {
    details: { issues: [{ path, message: problem }] },
  });
}
