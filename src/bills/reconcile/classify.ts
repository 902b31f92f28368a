import type { Cause } from "../../contract/bills/causes.ts";
import { toIso } from "../../kernel/clock.ts";
import type { BillCategory } from "../../contract/values.ts";
import { type Cell, explain, REQUESTS } from "./cells.ts";
import { MICRO } from "./exact.ts";
import { findCalls } from "./find_calls.ts";

/** The facts that hold for all cells. */
export interface Known {
  /** True if the bill names models: a line without one is then of nothing that is known. */
  hasModels: boolean;
  /** The provider's ids of the keys that the ledger has calls of; undefined if it knows none. */
  own: ReadonlySet<string> | undefined;
  /** The bill is whole for calls in [from, to). */
  whole: { from: number; to: number };
}

/** The causes of lines that are no usage. */
const CAUSE_OF_CATEGORY: Readonly<Record<Exclude<BillCategory, "usage">, Cause>> = {
  purchase: "commitment",
  fee: "fee",
  tax: "tax",
  credit: "credit",
  adjustment: "credit",
};

/** Returns the cause of a line that is no usage: of a fee, a purchase or an adjustment its name tells more than its category. */
export function causeOfCategory(category: Exclude<BillCategory, "usage">, name: string): Cause {
  const isNamed = category !== "tax" && category !== "credit";
  if (isNamed && /\b(?:currency|fx|foreign exchange|exchange rate)\b/.test(name)) return "fx";
  if (isNamed && /\b(?:minimum|shortfall|true.?up)\b/.test(name)) return "minimum";
  return CAUSE_OF_CATEGORY[category];
}

/** Returns whether the source had not counted a bucket fully yet. */
export const isLate = ({ startsAt, endsAt }: Pick<Cell, "startsAt" | "endsAt">, { whole }: Known): boolean =>
  endsAt > whole.to || startsAt < whole.from;

/** Returns the cause of a late bucket. */
export const lateCause = (
  { startsAt }: Pick<Cell, "startsAt">,
  { whole }: Pick<Known, "whole">,
): Explained => [
  "late",
  startsAt < whole.from
    ? `the bill begins at ${toIso(whole.from)}`
    : `the bill was whole until ${toIso(whole.to)}`,
];

/** Returns the cause of a part that the ledger never has, such as a fee for searches; undefined for tokens and requests. */
function causeOfPart(part: string, sku = ""): "tool_fee" | "storage" | "session" | undefined {
  const name = `${part} ${sku}`.toLowerCase();
  if (/storage/.test(name)) return "storage";
  if (/session/.test(name)) return "session";
  if (/search|code.?execution|code.?interpreter|tool|grounding|fetch|image_generation/.test(name)) {
    return "tool_fee";
  }
  return undefined;
}

/** A cause with its evidence. */
export type Explained = readonly [cause: Cause, evidence: string];

/** Returns the cause of a part that the bill has more of, as far as its line tells it; else undefined. */
export function causeOfLine(cell: Cell, part: string, known: Known): Explained | undefined {
  const { credential, model } = cell.dimensions;
  const sku = cell.bill.get(part)?.sku;
  const ofPart = cell.ours.has(part) ? undefined : causeOfPart(part, sku);
  if (ofPart) return [ofPart, `the ledger has no ${part || sku}`];
  if (model === undefined && known.hasModels) return ["unexplained", "a line without a model"];
  if (!known.own || known.own.has(credential ?? "")) return undefined;
  return [
    "bypass",
    credential === undefined ? "a line without a key" : `${credential} is no key of the ledger`,
  ];
}

const DIRECTIONS = ["input_tokens", "output_tokens"];

/** Explains what is left of the quantities of a cell. What nothing explains stays `unexplained`. */
export function explainRest(cell: Cell, known: Known): void {
  const { rest, calls, doubtful } = cell;
  const requests = rest.get(REQUESTS) ?? 0n;
  const hasRequests = cell.bill.has(REQUESTS);
  const parts = [...rest].filter(([part]) => part !== REQUESTS);
  const isLess = parts.length > 0 && parts.every(([, quantity]) => quantity < 0n);
  const missing = isLess && (requests < 0n || !hasRequests) ? missingCalls() : "none";
  // A bill without requests has more or fewer calls if it has more or less of each direction.
  const areCalls = !hasRequests && (isLess || parts.every(([, quantity]) => quantity > 0n)) &&
    DIRECTIONS.every((part) => rest.has(part) || !(cell.bill.has(part) || cell.ours.has(part)));
  for (const [part, quantity] of parts) {
    const [cause, evidence] = quantity > 0n ? moreBilled(part) : lessBilled();
    explain(cell, part, quantity, cause, evidence);
  }

  function moreBilled(part: string): Explained {
    const ofLine = causeOfLine(cell, part, known);
    if (ofLine) return ofLine;
    if (calls === 0) return ["bypass", "the ledger has no call there"];
    if (hasRequests && requests > 0n && BigInt(doubtful) * MICRO < requests) {
      return ["bypass", `the bill has ${requests / MICRO} more requests`];
    }
    if (doubtful > 0) return ["lost", doubtfulText()];
    return areCalls
      ? ["bypass", "more input and output; the bill counts no requests"]
      : ["unexplained", sameRequests()];
  }

  function lessBilled(): Explained {
    if (isLate(cell, known)) return lateCause(cell, known);
    const less = Array.isArray(missing) ? `less by what ${missing.join(", ")} had` : "less input and output";
    if (requests < 0n) return ["not_billed", `the bill has ${-requests / MICRO} fewer requests: ${less}`];
    if (cell.bill.size === 0) return ["not_billed", "the bill has nothing there"];
    if (Array.isArray(missing)) return ["not_billed", less];
    if (doubtful > 0) return ["lost", doubtfulText()];
    return areCalls && missing === undefined
      ? ["not_billed", `${less}; the bill counts no requests, and there are too many calls to tell which`]
      : ["unexplained", sameRequests()];
  }

  /** Returns the calls whose counts are what the bill has less. */
  function missingCalls(): ReturnType<typeof findCalls> {
    const compared = [...cell.ours.keys()].filter((part) =>
      rest.has(part) || cell.bill.get(part)?.quantity !== undefined
    );
    const sum = compared.map((part) => -(rest.get(part) ?? 0n));
    return findCalls([cell], sum, (own) => compared.map((part) => own.get(part)?.quantity ?? 0n));
  }

  function doubtfulText(): string {
    return `${doubtful} of ${calls} calls failed, were cut off, or are estimates`;
  }

  function sameRequests(): string {
    return hasRequests
      ? `the same ${calls} requests, with other quantities`
      : "other quantities than those of whole calls, and the bill counts no requests";
  }
}
