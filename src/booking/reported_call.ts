import { PurserError } from "../errors.ts";
import type { ModelCall } from "../ledger/mod.ts";
import { type NanoUsd, roundUsd } from "../money.ts";
import { checkUsage, type Usage } from "../pricing/mod.ts";
import type { BookingContext } from "./context.ts";

/** How far ahead of this process's clock a reported call may be. */
export const MAX_AHEAD_MS = 5 * 60_000;

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
  if (report.at < 0) throw invalid(`${where}.at`, "it is before 1970");
  if (report.at > ctx.clock.now() + MAX_AHEAD_MS) {
    throw invalid(`${where}.at`, "it is more than five minutes ahead of this server's clock");
  }
  try {
    checkUsage(report.usage);
  } catch (error) {
    throw invalid(where, (error as Error).message);
  }
  const { costUsd, ...call } = report;
  const price = costUsd === undefined || costUsd === null
    ? ctx.prices.price({ provider: call.provider, model: call.model, at: call.at, usage: call.usage })
    : { costNanoUsd: reportedCost(costUsd, where), priceSource: REPORTED };
  return { ...call, ...price, isEstimated: false };
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
 * Whether two calls of one id come from the same report. A price is not part of a report without a cost, so
 * that one that comes again after prices have changed is still the same.
 */
export function isSameReport(a: ModelCall, b: ModelCall): boolean {
  return contentOf(a) === contentOf(b);
}

function contentOf(call: ModelCall): string {
  const { usage, priceSource, costNanoUsd, ...rest } = call;
  return JSON.stringify([
    rest.at,
    rest.agentId,
    rest.sessionId,
    rest.runId,
    rest.step,
    rest.tools,
    rest.provider,
    rest.model,
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadTokens,
    usage.cacheWriteTokens,
    usage.cacheWrite1hTokens,
    usage.reasoningTokens,
    priceSource === REPORTED ? String(costNanoUsd) : null,
    rest.durationMs === null ? null : Math.round(rest.durationMs),
  ]);
}

function invalid(path: string, problem: string): PurserError {
  return new PurserError("invalid", `Cannot book the calls: ${path}: ${problem}`, {
    details: { issues: [{ path, message: problem }] },
  });
}
