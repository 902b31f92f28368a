import { indexedBy, ORDERED_JOIN, type SqlValue, type Statement } from "../../store/mod.ts";
import type { Witnessed } from "./said.ts";

/*
 * A sighting may share nothing with the other witnesses of its call but counts and time. Its call is one of the gateway, a run or a
 * meter; or one that the log of an agent has told, of a sighting of its telemetry, and the other way round.
 */

/** The largest difference between the clocks of two witnesses. */
export const MAX_SKEW_MS = 2 * 60_000;
/** The longest call that is found by its counts. */
const MAX_DURATION_MS = 10 * 60_000;

/** The logs of an agent and its telemetry are witnesses of the same calls. */
const OTHER_SOURCE: Readonly<Record<string, string>> = { log: "otlp", otlp: "log" };

export const sourceOf = (witness: string): string => witness.slice(0, witness.indexOf(":"));

/** Many exporters don't tell which tokens came from a cache. */
export const mayLackCache = (source: string, cacheReadTokens: number): boolean =>
  source === "otlp" && cacheReadTokens === 0;

const field = (index: number) => `CAST(j.value ->> ${index} AS BIGINT)`;

// Each call in one of the windows of time is read once, however many sightings fall into it. As a value, the list of counts is
// hashed; as a condition, PostgreSQL would read it again for each call.
const inWindows = (sources: Iterable<string>) =>
  `SELECT c.call_id, c.at, c.source, c.response_id IS NOT NULL, c.input_tokens,
  c.cache_read_tokens, c.output_tokens, c.is_estimated FROM json_each(?1) j ${ORDERED_JOIN} calls c ${
    indexedBy("calls_by_time")
  } ON c.at BETWEEN ${field(0)} AND ${field(1)}
WHERE c.adjusts IS NULL AND c.source IN ('gateway', 'run', 'meter'${
    [...sources].sort().map((source) => `, '${source}'`).join("")
  })
  AND coalesce(c.input_tokens IN (SELECT CAST(value AS BIGINT) FROM json_each(?2)), false)
ORDER BY c.at, c.call_id`;

const fromOf = ({ said }: Witnessed) => said.at - MAX_SKEW_MS - MAX_DURATION_MS;
const toOf = ({ said }: Witnessed) => said.at + MAX_SKEW_MS;

/** Returns the statement that reads the calls which may have the counts of some sightings; none for none. */
export function callsByCounts(set: readonly Witnessed[]): Statement[] {
  if (set.length === 0) return [];
  const windows: [from: number, to: number][] = [];
  for (const one of set.toSorted((a, b) => a.said.at - b.said.at)) {
    const last = windows.at(-1);
    if (last && fromOf(one) <= last[1]) last[1] = Math.max(last[1], toOf(one));
    else windows.push([fromOf(one), toOf(one)]);
  }
  const others = new Set(set.flatMap(({ witness }) => OTHER_SOURCE[sourceOf(witness)] ?? []));
  const inputs = new Set(set.map(({ said }) => said.counts[0]));
  return [{ sql: inWindows(others), args: [JSON.stringify(windows), JSON.stringify([...inputs])] }];
}

/** Returns the ids of the calls with the counts of each sighting, near its time, by its index. */
export function idsByCounts(
  set: readonly Witnessed[],
  rows: readonly (readonly SqlValue[])[] = [],
): Map<number, string[]> {
  const byInput = Map.groupBy(set, ({ said }) => said.counts[0]);
  const found = new Map<number, string[]>();
  for (const [callId, at, source, hasId, input, cacheRead, output, estimated] of rows) {
    for (const one of byInput.get(Number(input)) ?? []) {
      const { index, witness, said } = one;
      const { counts, response } = said;
      const own = sourceOf(witness);
      const isOfAgent = source === "log" || source === "otlp";
      // One of two ids tells more than the counts do.
      const mayBe = isOfAgent
        ? OTHER_SOURCE[own] === source && (response === undefined || !hasId)
        : response === undefined;
      const hasCounts = (counts[2] === Number(cacheRead) || mayLackCache(own, counts[2])) &&
        (counts[1] === Number(output) || Number(estimated) > 0 || said.quality === "provisional");
      if (!mayBe || !hasCounts || Number(at) < fromOf(one) || Number(at) > toOf(one)) continue;
      const ids = found.get(index);
      if (ids) ids.push(callId as string);
      else found.set(index, [callId as string]);
    }
  }
  return found;
}
