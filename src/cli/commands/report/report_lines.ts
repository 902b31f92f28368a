import { PurserError } from "../../../kernel/errors.ts";
import type { Line } from "./read_lines.ts";

/** The outcome of the calls of a report. */
export interface Tally {
  booked: number;
  duplicates: number;
  /** The calls that were reported before with a smaller output, or as billed; absent without any. */
  amended?: number;
  unpriced: number;
}

/** Adds the outcome of some calls to that of others. */
export function addTally(sum: Tally, { booked, duplicates, amended = 0, unpriced }: Tally): void {
  sum.booked += booked;
  sum.duplicates += duplicates;
  if (amended > 0) sum.amended = (sum.amended ?? 0) + amended;
  sum.unpriced += unpriced;
}

/** A line that was not booked. */
export interface BadLine {
  line: number;
  /** The reasons, each with the path of the field where there is one. */
  problems: string[];
}

/** The bounds of one request. */
export interface BatchLimits {
  calls: number;
  bytes: number;
}

/** The context of `reportLines`. */
export interface ReportContext {
  /** Books the calls of a JSON array, all or none. */
  post(body: string): Promise<Tally>;
  /** Receives the outcome of the lines since the last time: the bad ones by their numbers, the last line read. */
  onBatch(outcome: Tally & { bad: readonly BadLine[]; lastLine: number }): void;
  limits: BatchLimits;
}

/** A line that is a call. */
interface CallLine {
  number: number;
  text: string;
  callId: unknown;
}

/**
 * Reports the calls of lines in batches. A line that can't be booked is left out, and the others of its batch are booked:
 * they have happened, and a repeated report books no call again. Blank lines are skipped. Errors that are
 * not about a line, such as a server that can't be reached, are thrown.
 */
export async function reportLines(lines: AsyncIterable<Line>, ctx: ReportContext): Promise<void> {
  let calls: CallLine[] = [];
  let bad: BadLine[] = [];
  let bytes = 0;
  let lastLine = 0;

  async function book(): Promise<void> {
    const tally: Tally = { booked: 0, duplicates: 0, unpriced: 0 };
    try {
      await bookBatch(calls, { post: ctx.post, bad, tally });
    } finally {
      ctx.onBatch({ ...tally, bad: bad.sort((a, b) => a.line - b.line), lastLine });
      [calls, bad, bytes] = [[], [], 0];
    }
  }

  for await (const line of lines) {
    lastLine = line.number;
    const read = readCall(line);
    if (read === undefined) continue;
    if ("problems" in read) bad.push(read);
    else {
      if (bytes + read.text.length > ctx.limits.bytes) await book();
      calls.push(read);
      bytes += read.text.length;
    }
    if (calls.length >= ctx.limits.calls || bad.length >= ctx.limits.calls) await book();
  }
  if (calls.length > 0 || bad.length > 0) await book();
}

/** Reads a line; undefined for a blank one. */
function readCall(line: Line): CallLine | BadLine | undefined {
  const { number } = line;
  if ("fault" in line) return { line: number, problems: [line.fault] };
  const text = line.text.replace(/^\ufeff/, "").trim();
  if (text === "") return undefined;
  try {
    const value = JSON.parse(text);
    return { number, text, callId: (value as { call_id?: unknown } | null)?.call_id };
  } catch {
    return { line: number, problems: ["it is not JSON"] };
  }
}

/** The number of requests that may each find some bad lines of a batch; then the batch is halved. */
const MAX_ROUNDS = 3;

/** Books all calls of a batch but the bad ones, which it adds to `bad`. */
async function bookBatch(
  batch: readonly CallLine[],
  ctx: Pick<ReportContext, "post"> & { bad: BadLine[]; tally: Tally },
): Promise<void> {
  let calls = batch;
  for (let round = 1; calls.length > 0; round++) {
    try {
      return addTally(ctx.tally, await ctx.post(`[${calls.map(({ text }) => text).join(",")}]`));
    } catch (error) {
      const refusal = refusalOf(error);
      const found = badLines(refusal, calls);
      if (found.length === 0 && calls.length === 1) {
        found.push({ line: calls[0]!.number, problems: [refusal.message] });
      }
      ctx.bad.push(...found);
      const numbers = new Set(found.map(({ line }) => line));
      calls = calls.filter(({ number }) => !numbers.has(number));
      if (found.length === 0 || round === MAX_ROUNDS) {
        const half = Math.ceil(calls.length / 2);
        await bookBatch(calls.slice(0, half), ctx);
        await bookBatch(calls.slice(half), ctx);
        return;
      }
    }
  }
}

/** Returns an error if it refuses the content of lines; throws any other. */
function refusalOf(error: unknown): PurserError {
  if (error instanceof PurserError) {
    const { code, details } = error;
    if (code === "invalid" || code === "conflict" || code === "too_large") return error;
    // A key of one agent may not report some of the calls.
    if (code === "forbidden" && typeof details?.agent_id === "string") return error;
  }
  throw error;
}

/** Returns the lines that a refusal names, by index or by call id. */
function badLines({ code, details }: PurserError, calls: readonly CallLine[]): BadLine[] {
  if (code === "conflict" && details?.call_id !== undefined) {
    // The last one: within a batch, an earlier line of the same id may be right.
    const call = calls.findLast(({ callId }) => callId === details.call_id);
    const problem = "call_id: it is booked, or on an earlier line, with other content";
    return call ? [{ line: call.number, problems: [problem] }] : [];
  }
  const bad = new Map<number, BadLine>();
  for (const { path, message } of issuesOf(details)) {
    const [, index, field] = /^\[(\d+)\]\.?(.*)$/s.exec(path) ?? [];
    const call = index === undefined ? undefined : calls[Number(index)];
    if (!call) continue;
    const { number: line } = call;
    const problem = field ? `${field}: ${message}` : message;
    bad.set(line, { line, problems: [...bad.get(line)?.problems ?? [], problem] });
  }
  return [...bad.values()];
}

function issuesOf(details: PurserError["details"]): { path: string; message: string }[] {
  const issues = Array.isArray(details?.issues) ? details.issues : [];
  return issues.filter((issue) => typeof issue?.path === "string" && typeof issue?.message === "string");
}
