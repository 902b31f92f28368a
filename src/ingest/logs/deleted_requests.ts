import { type Fields, fieldsOf } from "./log_record.ts";

const COUNTS = ["tokensIn", "tokensOut", "cacheReads", "cacheWrites", "cost"] as const;
type Sum = Record<typeof COUNTS[number], number>;

/** Tells the sums of a task's deleted requests apart from those that were told one by one before they were deleted. */
export interface DeletedRequests {
  /** Adds a message with counts that the task still has: a request or a sum. Called for each, before `restOf`. */
  add(at: number, counts: Fields): void;
  /** Returns what a sum of deleted requests has beside those that were told. */
  restOf(at: number, sum: Fields): Fields;
  /** The state for the next import, as JSON. */
  state(): unknown;
}

/** Continues from the state of the last import of a task. */
export function trackDeletedRequests(before: unknown): DeletedRequests {
  const state = fieldsOf(before);
  const lastAt = typeof state.lastAt === "number" ? state.lastAt : 0;
  const known = fieldsOf(state.sums);
  /** The sum of the messages of the last import that are no longer there. A sum of deleted requests has all of them. */
  const missing = sumOf(fieldsOf(state.told));
  const told = sumOf({});
  const sums: Record<string, Sum> = {};
  let newestAt = lastAt;

  return {
    add(at, fields) {
      const counts = sumOf(fields);
      newestAt = Math.max(newestAt, at);
      for (const name of COUNTS) {
        told[name] += counts[name];
        if (at <= lastAt) missing[name] -= counts[name];
      }
    },
    restOf(at, sum) {
      const rest = sumOf(fieldsOf(known[at] ?? sum));
      if (known[at] === undefined) {
        for (const name of COUNTS) {
          const taken = Math.min(rest[name], Math.max(0, missing[name]));
          rest[name] -= taken;
          missing[name] -= taken;
        }
        rest.cost = Number(rest.cost.toFixed(9));
      }
      return sums[at] = rest;
    },
    state: () => ({ lastAt: newestAt, told, sums }),
  };
}

function sumOf(fields: Fields): Sum {
  const count = (name: keyof Sum) => typeof fields[name] === "number" ? fields[name] : 0;
  return {
    tokensIn: count("tokensIn"),
    tokensOut: count("tokensOut"),
    cacheReads: count("cacheReads"),
    cacheWrites: count("cacheWrites"),
    cost: count("cost"),
  };
}
