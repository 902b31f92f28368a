import { DAY_MS, HOUR_MS, MINUTE_MS, startOf } from "../clock.ts";
import type { SqlValue, Statement } from "../store/mod.ts";
import { addCall, COUNTER_COLUMNS, type Counters, counterValues, noCounters } from "./counters.ts";
import type { ModelCall } from "./model_call.ts";

/** The scope of windows that add up all agents; no agent is called that. */
export const ALL_AGENTS = "";

const CALL_COLUMNS = [
  "call_id",
  "at",
  "agent_id",
  "session_id",
  "run_id",
  "step",
  "tools",
  "provider",
  "model",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "reasoning_tokens",
  "total_tokens",
  "cost_nano_usd",
  "price_source",
  "duration_ms",
  "estimated",
];

const CALL_VALUES = `(${CALL_COLUMNS.map(() => "?").join(", ")})`;

/** An insert of that many calls. Binding values is about twice as fast as reading them from one JSON text. */
const insertOf = (calls: number) =>
  `INSERT INTO calls (${CALL_COLUMNS.join(", ")}) VALUES ${Array(calls).fill(CALL_VALUES).join(", ")}`;

const CALLS_PER_INSERT = 25;
const INSERT_MANY = insertOf(CALLS_PER_INSERT);
const INSERT_ONE = insertOf(1);

const ADD_COUNTERS = COUNTER_COLUMNS.map((column) => `${column} = ${column} + excluded.${column}`).join(", ");

function upsert(table: string, key: string[], more: string[] = [], update: string[] = []): string {
  const columns = [...key, ...more, ...COUNTER_COLUMNS];
  return `INSERT INTO ${table} (${columns.join(", ")})
VALUES (${columns.map(() => "?").join(", ")})
ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${[...update, ADD_COUNTERS].join(", ")}`;
}

// `first_at` stays that of the first booking: it is what lists are ordered by, and an index on it.
const LAST_CALL = [
  "model = CASE WHEN excluded.last_at >= last_at THEN excluded.model ELSE model END",
  "last_at = max(last_at, excluded.last_at)",
];
const ADD_TO_RUN = upsert("spend_runs", ["run_id"], [
  "session_id",
  "agent_id",
  "model",
  "first_at",
  "last_at",
], LAST_CALL);
const ADD_TO_SESSION = upsert(
  "spend_sessions",
  ["session_id"],
  ["agent_id", "model", "first_at", "last_at"],
  LAST_CALL,
);
const ADD_TO_TOTAL = upsert("spend_totals", ["agent_id", "provider", "model"]);
const ADD_TO_DAY = upsert("spend_days", ["day", "agent_id", "provider", "model"]);
const ADD_TO_HOUR = upsert("spend_hours", ["hour", "agent_id", "provider", "model"]);

/**
 * The statements that book calls: their rows and every rollup they belong to. What it
 * costs depends on the calls and the rollups they touch, not on what the ledger holds.
 *
 * The unit fails with a `ConstraintError` when a call is in the ledger already.
 */
export function recordCalls(calls: readonly ModelCall[]): Statement[] {
  return [...insertCalls(calls), ...addToRollups(calls), ...addToWindows(calls)];
}

function insertCalls(calls: readonly ModelCall[]): Statement[] {
  const statements: Statement[] = [];
  let start = 0;
  for (; start + CALLS_PER_INSERT <= calls.length; start += CALLS_PER_INSERT) {
    statements.push({ sql: INSERT_MANY, args: calls.slice(start, start + CALLS_PER_INSERT).flatMap(toRow) });
  }
  for (const call of calls.slice(start)) statements.push({ sql: INSERT_ONE, args: toRow(call) });
  return statements;
}

function toRow(call: ModelCall): SqlValue[] {
  const { usage } = call;
  return [
    call.callId,
    call.at,
    call.agentId,
    call.sessionId,
    call.runId,
    call.step,
    JSON.stringify(call.tools),
    call.provider,
    call.model,
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadTokens,
    usage.cacheWriteTokens,
    usage.cacheWrite1hTokens,
    usage.reasoningTokens,
    usage.inputTokens + usage.outputTokens,
    call.costNanoUsd,
    call.priceSource,
    call.durationMs === null ? null : Math.round(call.durationMs),
    call.isEstimated ? 1 : 0,
  ];
}

interface Rollup {
  sql: string;
  key: SqlValue[];
  counters: Counters;
  /** Present where the rollup remembers its first and last call. */
  span?: { first: ModelCall; last: ModelCall };
}

function addToRollups(calls: readonly ModelCall[]): Statement[] {
  const rollups = new Map<string, Rollup>();
  const add = (call: ModelCall, sql: string, kind: string, key: SqlValue[], hasSpan = false) => {
    const id = kind + key.join("\0");
    let rollup = rollups.get(id);
    if (!rollup) {
      rollup = { sql, key, counters: noCounters() };
      if (hasSpan) rollup.span = { first: call, last: call };
      rollups.set(id, rollup);
    }
    addCall(rollup.counters, call);
    if (rollup.span) {
      if (call.at < rollup.span.first.at) rollup.span.first = call;
      if (call.at >= rollup.span.last.at) rollup.span.last = call;
    }
  };
  for (const call of calls) {
    const { at, agentId, provider, model } = call;
    if (call.runId !== null) add(call, ADD_TO_RUN, "run:", [call.runId], true);
    if (call.sessionId !== null) add(call, ADD_TO_SESSION, "session:", [call.sessionId], true);
    add(call, ADD_TO_TOTAL, "total:", [agentId, provider, model]);
    add(call, ADD_TO_DAY, "day:", [startOf(at, DAY_MS), agentId, provider, model]);
    add(call, ADD_TO_HOUR, "hour:", [startOf(at, HOUR_MS), agentId, provider, model]);
  }
  return [...rollups.values()].map(toStatement);
}

function toStatement({ sql, key, counters, span }: Rollup): Statement {
  const more: SqlValue[] = [];
  if (span) {
    const { first, last } = span;
    if (sql === ADD_TO_RUN) more.push(last.sessionId);
    more.push(first.agentId, last.model, first.at, last.at);
  }
  return { sql, args: [...key, ...more, ...counterValues(counters)] };
}

const windowsOf = (windows: number) =>
  `INSERT INTO spend_windows (scope, kind, start, cost_nano_usd) VALUES ${
    Array(windows).fill("(?, ?, ?, ?)").join(", ")
  }
ON CONFLICT (scope, kind, start) DO UPDATE SET
  cost_nano_usd = min(cost_nano_usd + excluded.cost_nano_usd, 9223372036854775807)`;

/** What one call adds to: its minute and its day, of its agent and of all. */
const WINDOWS_PER_INSERT = 4;
const ADD_TO_WINDOWS = windowsOf(WINDOWS_PER_INSERT);
const ADD_TO_WINDOW = windowsOf(1);

/**
 * The spend by minute and day that alert rules look at; it ends at what 64 bits hold, which is above any threshold.
 * Free calls and those without a price add nothing.
 */
function addToWindows(calls: readonly ModelCall[]): Statement[] {
  const windows = new Map<string, { key: SqlValue[]; costNanoUsd: bigint }>();
  for (const { at, agentId, costNanoUsd } of calls) {
    if (!costNanoUsd) continue;
    for (const scope of [agentId, ALL_AGENTS]) {
      for (const [kind, lengthMs] of [["minute", MINUTE_MS], ["day", DAY_MS]] as const) {
        const key = [scope, kind, startOf(at, lengthMs)];
        const id = key.join(" ");
        const window = windows.get(id);
        if (window) window.costNanoUsd += costNanoUsd;
        else windows.set(id, { key, costNanoUsd });
      }
    }
  }
  const rows = [...windows.values()].map(({ key, costNanoUsd }) => [...key, costNanoUsd]);
  const statements: Statement[] = [];
  let next = 0;
  for (; next + WINDOWS_PER_INSERT <= rows.length; next += WINDOWS_PER_INSERT) {
    statements.push({ sql: ADD_TO_WINDOWS, args: rows.slice(next, next + WINDOWS_PER_INSERT).flat() });
  }
  for (const args of rows.slice(next)) statements.push({ sql: ADD_TO_WINDOW, args });
  return statements;
}
