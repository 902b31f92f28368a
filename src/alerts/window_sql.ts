/**
 * Sums of money in SQL. They are exact as long as they fit 64 bits, and past that a REAL that is about right,
 * where `sum()` of the whole amounts would fail.
 */
const sumOf = (column: string) =>
  `coalesce(sum(${column} / 1000000000), 0) * 1000000000 + coalesce(sum(${column} % 1000000000), 0)`;

/** What was spent by calls of a scope in [from, to), from the ledger's rows; for short spans only. */
export function sumOfCalls(scope: string, from: string, to: string): string {
  return `(SELECT ${sumOf("c.cost_nano_usd")} FROM calls c INDEXED BY calls_at
    WHERE c.at >= ${from} AND c.at < ${to} AND (${scope} = '' OR c.agent_id = ${scope}))`;
}

/** What was spent in the windows of a kind that begin in [from, to). */
export function sumOfWindows(scope: string, kind: "minute" | "day", from: string, to: string): string {
  return `(SELECT ${sumOf("b.cost_nano_usd")} FROM spend_windows b
    WHERE b.scope = ${scope} AND b.kind = '${kind}' AND b.start >= ${from} AND b.start < ${to})`;
}

const minuteOf = (time: string) => `(${time}) / 60000 * 60000`;

/**
 * An hour [from, to) of a scope in two parts. What is `sure` are its whole minutes, less what is at or after its
 * end; the `edge` is its first minute, of which a part may be before its begin, so that it is an upper bound.
 */
export function hourParts(scope: string, from: string, to: string): { sure: string; edge: string } {
  const second = `${minuteOf(from)} + 60000`;
  const end = `${minuteOf(`${to} - 1`)} + 60000`;
  return {
    sure: `${sumOfWindows(scope, "minute", second, end)} - ${sumOfCalls(scope, to, end)}`,
    edge: sumOfWindows(scope, "minute", minuteOf(from), second),
  };
}

/** The exact part of the edge: reads the calls of less than a minute. */
export function hourEdge(scope: string, from: string): string {
  return sumOfCalls(scope, from, `${minuteOf(from)} + 60000`);
}
