import { DAY_MS } from "../../kernel/clock.ts";
import { tagsText } from "../../contract/tags/tags.ts";
import {
  detailsOf,
  type ModelCall,
  SCOPE_COLUMNS,
  scopeValuesOf,
  TOKEN_COLUMNS,
  upstreamIdOf,
} from "../../ledger/mod.ts";
import { countsOf, priceRecordOf } from "../../pricing/mod.ts";
import { indexedBy, mergeJson, ORDERED_JOIN, type SqlValue, type Statement } from "../../store/mod.ts";
import { WITNESS_OF_CALL } from "./call_of_witness.ts";
import { bareModel, isPlaceholder } from "./match_calls.ts";
import { MAX_SKEW_MS } from "./calls_by_counts.ts";
import { DAY_OF_CALL, DAYS_APART, hasAnswerId, NEAR_DAYS } from "./known_calls.ts";

/* The statements that book what witnesses have changed: entries that correct a call, and those that take one back. */

const SCOPES = ["at", ...SCOPE_COLUMNS, "step", "source", "provider", "model", "tags", "upstream_id"];
const COUNTS = [...TOKEN_COLUMNS, "unpriced", "partly_priced", "is_estimated"];

const AMENDED = [
  "call_id",
  "adjusts",
  "stands",
  ...SCOPES,
  "tools",
  ...COUNTS,
  "cost_nano_usd",
  "plan_nano_usd",
  "unpriced_parts",
  "price_source",
  "price_id",
  "service_tier",
  "details",
];
const AMENDED_INTEGERS = [
  ...COUNTS,
  "at",
  "step",
  "cost_nano_usd",
  "plan_nano_usd",
  "price_id",
  "upstream_id",
];
const AMEND = `INSERT INTO calls (${AMENDED.join(", ")})
SELECT ${AMENDED.map((column) => `v.${column}`).join(", ")} FROM each_row v`;

/** Returns the statement that books the differences between calls as they are and as their witnesses say, by the id of each entry. */
export function amendCalls(
  amended: readonly { entryId: string; from: ModelCall; to: ModelCall }[],
): Statement[] {
  if (amended.length === 0) return [];
  const rows = amended.map(({ entryId, from, to }) => [
    entryId,
    from.callId,
    from.callId,
    from.at,
    ...scopeValuesOf(from),
    from.step,
    from.source ?? null,
    from.provider,
    from.model,
    from.tags ? tagsText(from.tags) : null,
    upstreamIdOf(from),
    "[]",
    ...differences(from, to),
    to.costNanoUsd === null
      ? (from.costNanoUsd === null ? 0n : -from.costNanoUsd)
      : to.costNanoUsd - (from.costNanoUsd ?? 0n),
    (to.planNanoUsd ?? 0n) - (from.planNanoUsd ?? 0n) || null,
    to.unpricedParts ? JSON.stringify(to.unpricedParts) : null,
    to.priceSource,
    to.rates ? priceRecordOf(to.rates).priceId : null,
    to.serviceTier ?? null,
    detailsOf(to),
  ]);
  return [{ sql: AMEND, each: { columns: AMENDED, integers: AMENDED_INTEGERS, rows } }];
}

function differences(from: ModelCall, to: ModelCall): number[] {
  const amountsOf = ({ usage, costNanoUsd, unpricedParts, isEstimated }: ModelCall) => [
    ...countsOf(usage),
    usage.inputTokens + usage.outputTokens,
    Number(costNanoUsd === null),
    Number(unpricedParts !== undefined),
    Number(isEstimated),
  ];
  const [before, after] = [amountsOf(from), amountsOf(to)];
  return after.map((count, index) => count - before[index]!);
}

const present = (column: string, call = "c") =>
  `(${call}.${column} + coalesce((SELECT sum(a.${column}) FROM calls a WHERE a.adjusts = ${call}.call_id), 0))`;
const presentAmount = (column: string) =>
  `(coalesce(c.${column}, 0) + coalesce((SELECT sum(a.${column}) FROM calls a WHERE a.adjusts = c.call_id), 0))`;

// A call is taken back once: the id of the entry is made of its own.
const withdraw = (source: string) =>
  `INSERT INTO calls (call_id, adjusts, stands, ${SCOPES.join(", ")}, tools, price_source, price_id, ${
    COUNTS.join(", ")
  }, cost_nano_usd, plan_nano_usd)
SELECT 'withdrawn:' || c.call_id, c.call_id, v.stands, ${
    SCOPES.map((column) => `c.${column}`).join(", ")
  }, '[]', c.price_source,
  c.price_id, ${COUNTS.map((column) => `-${present(column)}`).join(", ")}, -${presentAmount("cost_nano_usd")},
  nullif(-${presentAmount("plan_nano_usd")}, 0)
FROM each_row v ${source} ON CONFLICT DO NOTHING`;

const WITHDRAW = withdraw(`${ORDERED_JOIN} calls c ON c.call_id = v.call_id WHERE c.adjusts IS NULL`);

/** Returns the statement that takes calls back, each for the one that stands in its place. */
export function withdrawCalls(withdrawn: readonly { callId: string; stands: string }[]): Statement[] {
  if (withdrawn.length === 0) return [];
  const rows = withdrawn.map(({ callId, stands }) => [callId, stands]);
  return [{ sql: WITHDRAW, each: { columns: ["call_id", "stands"], rows } }];
}

// A report takes back no call of another key that costs more, and no call without a key that says more: else a key could silence
// what others have reported.
const IS_LESSER = `c.adjusts IS NULL AND (v.is_report = 0 AND c.source IN ('log', 'otlp', 'report')
  OR c.source IN ('log', 'otlp') AND (v.key_id IS NULL OR c.key_id = v.key_id
    OR c.key_id IS NULL AND v.input_tokens >= c.input_tokens AND v.output_tokens >= ${
  present("output_tokens")
}
    OR v.billed_nano_usd >= ${presentAmount("cost_nano_usd")}))`;
const STANDS = "NOT EXISTS (SELECT 1 FROM calls w WHERE w.adjusts = c.call_id AND w.stands <> w.adjusts)";
const HAS_SAME_COUNTS = `c.input_tokens = v.input_tokens AND c.cache_read_tokens = v.cache_read_tokens
    AND (${present("output_tokens")} = v.output_tokens
      OR (${present("is_estimated")} > 0 AND ${present("output_tokens")} <= v.output_tokens))`;

const BY_ANSWER = withdraw(
  `${NEAR_DAYS} calls c ON ${DAY_OF_CALL} = v.day + near.days AND ${hasAnswerId("v.response_id")}
WHERE ${IS_LESSER} AND ${STANDS} AND (${HAS_SAME_COUNTS} OR (v.is_placeholder = 0 AND c.provider = v.provider))
  AND (v.is_placeholder = 0 OR c.at <= v.at + v.duration_ms + ${MAX_SKEW_MS}
    AND v.at <= c.at + coalesce(c.duration_ms, 0) + ${MAX_SKEW_MS})
  AND (c.provider = v.provider OR coalesce(
    (SELECT instr(s.said, '"provider":') = 0 FROM sightings s WHERE s.witness = ${WITNESS_OF_CALL}),
    instr(c.details, '"said":{"provider":null') > 0))`,
);

/** The output of a call that a record leaves out. */
const GROWN = `(v.output_tokens - ${present("output_tokens", "n")})`;

/** More than any position: a record with the id of the same request comes first, then one with the same output, then those that leave out a part. */
const LAST = 2 ** 52;

const BY_COUNTS = withdraw(
  `${ORDERED_JOIN} calls c ON c.position = (SELECT min(n.position + CASE WHEN ${GROWN} = 0 THEN 0 ELSE ${LAST} END
    + CASE WHEN n.request_id = v.request_id THEN 0 ELSE ${2 * LAST} END)
  FROM ${DAYS_APART} ${ORDERED_JOIN} calls n ${indexedBy("calls_without_answer")}
  ON (n.at / 86400000) = v.day + near.days AND n.input_tokens = v.input_tokens
  WHERE n.at BETWEEN v.at - ${MAX_SKEW_MS} AND v.at + v.duration_ms + ${MAX_SKEW_MS} AND v.is_report = 0 AND n.source IN ('log', 'otlp')
    AND n.adjusts IS NULL AND n.response_id IS NULL
    AND (n.cache_read_tokens = v.cache_read_tokens OR n.source = 'otlp' AND n.cache_read_tokens = 0) AND (${GROWN} = 0
      OR (${present("is_estimated", "n")} > 0 AND ${GROWN} > 0) OR (v.is_estimated = 1 AND ${GROWN} < 0))
    AND (instr(n.model, v.bare_model) > 0 OR instr(v.model, n.model) > 0)
    AND (n.reasoning_tokens = 0 OR v.reasoning_tokens = 0 OR n.reasoning_tokens = v.reasoning_tokens)
    AND (n.session_id IS NULL OR v.session_id IS NULL OR n.session_id = v.session_id
      OR instr(v.session_id, ':' || n.session_id) > 0)
    AND NOT EXISTS (SELECT 1 FROM calls w WHERE w.adjusts = n.call_id AND w.stands <> w.adjusts)) % ${LAST}
WHERE NOT EXISTS (SELECT 1 FROM calls o WHERE o.stands = v.stands AND o.adjusts <> o.stands)`,
);

const ADD_TAGS = `INSERT INTO call_tags (call_id, tags)
SELECT w.stands, ${mergeJson("coalesce(t.tags, c.tags)", "coalesce(v.tags, '{}')")}
FROM each_row v ${ORDERED_JOIN} calls w ON w.stands = v.stands AND w.adjusts <> w.stands
${ORDERED_JOIN} calls c ON c.call_id = w.adjusts LEFT JOIN call_tags t ON t.call_id = c.call_id
WHERE coalesce(t.tags, c.tags) IS NOT NULL
ON CONFLICT DO NOTHING`;

const LESSER = [
  "stands",
  "response_id",
  "request_id",
  "is_placeholder",
  "is_report",
  "key_id",
  "billed_nano_usd",
  "provider",
  "model",
  "bare_model",
  "session_id",
  "at",
  "day",
  "duration_ms",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "reasoning_tokens",
  "is_estimated",
  "tags",
];
const LESSER_INTEGERS = LESSER.filter((column) =>
  /_(?:tokens|usd)$|^(?:at|day|duration_ms|is_placeholder|is_report|is_estimated)$/.test(column)
);

/**
 * Returns the statements that take back what lesser witnesses have led to of calls that the gateway, runs and `meter()` book in the
 * same unit, and give their tags to those. The order of positions is that of the statements: taken back first, a call counts once at
 * any moment.
 */
export function withdrawLesser(calls: readonly ModelCall[]): Statement[] {
  const better = calls.filter(({ source, responseId }) =>
    source !== "log" && source !== "otlp" &&
    (source !== "report" || responseId)
  );
  if (better.length === 0) return [];
  const rows = better.map((call): SqlValue[] => [
    call.callId,
    call.responseId || null,
    call.requestId || null,
    Number(isPlaceholder(call.responseId ?? "")),
    Number(call.source === "report"),
    call.keyId ?? null,
    call.costNanoUsd ?? 0n,
    call.provider,
    call.model,
    bareModel(call.model),
    call.sessionId,
    call.at,
    Math.floor(call.at / DAY_MS),
    Math.round(call.durationMs ?? 0),
    call.usage.inputTokens,
    call.usage.outputTokens,
    call.usage.cacheReadTokens,
    call.usage.reasoningTokens,
    Number(call.isEstimated),
    call.tags ? tagsText(call.tags) : null,
  ]);
  const each = { columns: LESSER, integers: LESSER_INTEGERS, rows };

  /** A statement doesn't see what it takes back itself: two calls with the same key would take the same row, so each has its own. */
  function take(sql: string, keyOf: (call: ModelCall) => string | number | undefined): Statement[] {
    const lists: SqlValue[][][] = [];
    const twins = new Map<string | number, number>();
    for (const [index, call] of better.entries()) {
      const key = keyOf(call);
      const earlier = key === undefined ? 0 : twins.get(key) ?? 0;
      if (key !== undefined) twins.set(key, earlier + 1);
      (lists[earlier] ??= []).push(rows[index]!);
    }
    return lists.map((rows) => ({ sql, each: { ...each, rows } }));
  }

  return [
    ...take(BY_ANSWER, ({ responseId }) => responseId || undefined),
    ...take(
      BY_COUNTS,
      ({ source, usage }) => source === "report" ? undefined : usage.inputTokens,
    ),
    { sql: ADD_TAGS, each },
  ];
}
