import { MAX_CALL_TOKENS } from "../../contract/limits.ts";
import { PurserError } from "../../kernel/errors.ts";
import { type Fields, isFields } from "../../pricing/usage/mod.ts";

/* Shared by the readers of requests of all wires. */

/** Returns the error for a request that the gateway does not pass on. */
export function cannotPass(message: string): PurserError {
  return new PurserError("invalid", `Cannot pass the request on: ${message}`);
}

/** Returns the model that a body names. Throws `invalid`. A comma separates the models of a list, all of which LiteLLM calls. */
export function modelOf({ model }: Fields): string {
  if (typeof model === "string" && /^[^\s\p{C},]{1,200}$/u.test(model)) return model;
  throw cannotPass('"model" must be 1 to 200 characters without blanks and commas');
}

/** Returns whether a request asks for a stream. Throws for a value that only some servers take for `true`. */
export function isStreamedIn({ stream }: Fields): boolean {
  if (stream === undefined || stream === null || typeof stream === "boolean") return stream === true;
  throw cannotPass('"stream" must be true, false or left out');
}

/**
 * Returns the output limit that some fields of a request set: the largest, where there are several, since a server may know only
 * that one. Undefined without a limit, and for one that limits nothing: 0, or more than any call can have.
 */
export function limitIn(fields: Fields, ...names: readonly string[]): number | undefined {
  const limits = names.map((name) => fields[name]).filter((value) => value !== undefined && value !== null);
  const isLimit = (value: unknown): value is number => isCount(value) && value >= 1;
  return limits.length > 0 && limits.every(isLimit) ? Math.max(...limits) : undefined;
}

/** Returns whether a value is a count of tokens that a call can have. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_CALL_TOKENS;
}

/** Returns the output limit of `count` choices together; undefined if `count` isn't a number of choices. */
export function timesChoices(limit: number | undefined, count: unknown): number | undefined {
  if (limit === undefined) return undefined;
  if (count === undefined || count === null) return limit;
  return isCount(count) && count >= 1 && isCount(limit * count) ? limit * count : undefined;
}

/** The members with the arguments and results of tools, which are JSON of any form. */
export const OF_TOOLS: ReadonlySet<string> = new Set(["input", "args", "arguments", "response"]);

/** Finds the first object in a list of values, at any depth, for which `find` returns a reason. */
export function findReason(
  values: unknown,
  find: (fields: Fields) => string | undefined,
  depth = 0,
): string | undefined {
  if (depth > 12) return "it is nested too deeply to be bounded";
  if (Array.isArray(values)) {
    for (const value of values) {
      if (typeof value !== "object") continue;
      const reason = findReason(value, find, depth + 1);
      if (reason) return reason;
    }
    return undefined;
  }
  if (!isFields(values)) return undefined;
  const reason = find(values);
  if (reason) return reason;
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== "object" || OF_TOOLS.has(name)) continue;
    const inner = findReason(value, find, depth + 1);
    if (inner) return inner;
  }
  return undefined;
}

/** The reason that a request has no bound if its prompt is cached for longer than cache writes have a price for. */
export const LONG_CACHE = "it caches a part of its prompt for longer than is priced";

/** Returns whether a part of a prompt sets OpenAI's breakpoint of a cache with another lifetime than the usual one. */
export function isLongCache({ prompt_cache_breakpoint: breakpoint }: Fields): boolean {
  return isFields(breakpoint) && breakpoint.ttl != null && breakpoint.ttl !== "30m";
}

/** The reason that a request has no bound if a proxy may answer it with another model. */
export const NAMES_OTHERS = "it names other models, too";

/** Returns the reason that a tool has no bound: one that the provider runs adds model turns, input and fees. */
export function openTool(
  tools: unknown,
  isOwn: (tool: Fields) => boolean,
): string | undefined {
  if (tools === undefined || tools === null) return undefined;
  if (!Array.isArray(tools)) return "its tools can't be read";
  const open = tools.find((tool) => !isFields(tool) || !isOwn(tool));
  if (open === undefined) return undefined;
  const name = isFields(open) ? open.type ?? open.name ?? Object.keys(open)[0] : "?";
  return `the provider runs the tool ${String(name).slice(0, 80)}`;
}
