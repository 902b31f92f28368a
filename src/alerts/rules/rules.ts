import { and, eq } from "drizzle-orm";
import { findUnknown, readLargest } from "../../budgets/mod.ts";
import type { AlertRule } from "../../contract/alerts/alert_rules.ts";
import type { NameFields } from "../../contract/costs/dimensions.ts";
import { isOfCalls, PLAN_THRESHOLD, type ThresholdType } from "../../contract/values.ts";
import { calendarIn, daysOf, periodOf, ROLLING_MS, startSql, type Window } from "../../contract/windows.ts";
import { toIso } from "../../kernel/clock.ts";
import { type NanoUsd, toUsd } from "../../kernel/money.ts";
import {
  atMost64Bits,
  counterIn,
  counterSum,
  counterValue,
  describePace,
  isInScope,
  isScopeBy,
  PACED_WINDOWS,
  readPaces,
  readSessionsOfRuns,
  readWindows,
  sumOfCalls,
  sumOfKind,
  sumOfTail,
  textAt,
  TOTALS_POSITION,
} from "../../ledger/mod.ts";
import { withNames } from "../../keys/mod.ts";
import { indexedBy, isAfter, NOT_INDEXED, oldestFirst, tables, type TimePosition } from "../../store/mod.ts";
import type { AlertContext } from "../context.ts";
import { inputOf, type RuleRow, RULES } from "./rule_fields.ts";

/** A rule without its present value. */
export type RuleDefinition = Omit<AlertRule, keyof RuleState | "unknown" | keyof NameFields>;

/** Converts a row to its wire form, without its present value. */
export function toDefinition(row: RuleRow): RuleDefinition {
  return {
    rule_id: row.ruleId,
    ...inputOf(row),
    last_fired_at: row.lastFiredAt === null ? null : toIso(row.lastFiredAt),
    created_at: toIso(row.createdAt),
    updated_at: toIso(row.updatedAt),
  };
}

/** The rules to list: of one agent only, after the last rule of the previous page. */
interface RuleFilter {
  agentId?: string;
  isEnabled?: true;
  after?: TimePosition | undefined;
  /** All where it is not given. */
  limit?: number;
}

const { alertRules } = tables;

const LIST = oldestFirst(alertRules.createdAt, alertRules.ruleId);

/** Lists rules, oldest first. */
export async function listRules(
  ctx: Pick<AlertContext, "store" | "query" | "clock">,
  { agentId, isEnabled, after, limit = Number.MAX_SAFE_INTEGER }: RuleFilter = {},
): Promise<AlertRule[]> {
  const rows = await ctx.query.select().from(alertRules)
    .where(and(
      agentId === undefined ? undefined : eq(alertRules.scope, agentId),
      isEnabled && eq(alertRules.enabled, true),
      LIST.from(after),
    ))
    .orderBy(...LIST.order).limit(limit);
  // A reader of one agent is shown no other names.
  return await withValues(ctx, rows, agentId === undefined);
}

/** Returns one rule; for a reader of one agent only one of that agent. Throws `not_found`. */
export async function getRule(
  ctx: Pick<AlertContext, "store" | "query" | "clock">,
  ruleId: string,
  agentId?: string,
): Promise<AlertRule> {
  const row = await RULES.read(
    ctx.query,
    ruleId,
    agentId === undefined ? undefined : eq(alertRules.scope, agentId),
  );
  return (await withValues(ctx, [row], agentId === undefined))[0]!;
}

/** Converts rows to rules in wire form, each with the value it measures at present. */
export async function withValues(
  ctx: Pick<AlertContext, "store" | "clock">,
  rows: readonly RuleRow[],
  findsUnknown: boolean,
): Promise<AlertRule[]> {
  const [states, unknown] = await Promise.all([
    readRuleStates(ctx, rows),
    findsUnknown ? findUnknown(ctx, rows.map(({ scope }) => scope)) : undefined,
  ]);
  const rules = rows.map((row, index) => {
    const name = unknown?.get(row.scope);
    return { ...toDefinition(row), ...states[index]!, ...(name && { unknown: name }) };
  });
  return await withNames(ctx, rules);
}

/** The present value of a rule, the run or session that has it, and its pace. */
type RuleState = Pick<
  AlertRule,
  "value_usd" | "value_pct" | "window_start" | "counter" | "usd_per_hour" | "reaches_at"
>;

type Measuring = Pick<
  RuleRow,
  "thresholdType" | "scope" | "each" | "shape" | "calendar" | "thresholdNanoUsd"
>;

const isOfSpending = (rule: Measuring): rule is Measuring & { thresholdType: ThresholdType } =>
  isOfCalls(rule.thresholdType);

const FULLEST = `SELECT agent, max(used_basis_points) FROM plan_windows WHERE resets_at > ? GROUP BY agent`;

const UNEXPLAINED =
  `SELECT max(unexplained_nano_usd) FROM reconciliations r WHERE NOT EXISTS (SELECT 1 FROM reconciliations n
  WHERE n.source = r.source AND n.account = r.account AND n.month = r.month
    AND (n.created_at, n.reconciliation_id) > (r.created_at, r.reconciliation_id))`;

/** Reads the present state of each rule: the spending that it measures, the use of the fullest window of plans, or the most that is unexplained of a month. */
async function readRuleStates(
  ctx: Pick<AlertContext, "store" | "clock">,
  rules: readonly Measuring[],
): Promise<RuleState[]> {
  const spending = rules.filter(isOfSpending);
  const states = new Map<Measuring, RuleState>();
  for (const [index, state] of (await readSpendingStates(ctx, spending)).entries()) {
    states.set(spending[index]!, state);
  }
  if (spending.length < rules.length) {
    const { rows } = await ctx.store.read({ sql: FULLEST, args: [ctx.clock.now()] });
    const { rows: [most] } = await ctx.store.read({ sql: UNEXPLAINED });
    const unexplained = most![0] === null ? null : toUsd(BigInt(most![0] as bigint));
    for (const rule of rules.filter((rule) => !isOfSpending(rule))) {
      const used = rows.filter(([agent, most]) => most !== null && ["", agent].includes(rule.scope))
        .map(([, most]) => Number(most) / 100);
      const value_pct = used.length === 0 ? null : Math.max(...used);
      states.set(rule, {
        ...rule.thresholdType === PLAN_THRESHOLD
          ? { value_usd: null, value_pct }
          : { value_usd: unexplained },
        window_start: null,
        usd_per_hour: null,
        reaches_at: null,
      });
    }
  }
  return rules.map((rule) => states.get(rule)!);
}

const readRuleWindows = (ctx: Pick<AlertContext, "store">, rules: readonly SpendingRule[], now: number) =>
  readWindows(
    ctx.store,
    rules.map((rule) => ({ per: periodOf(rule.thresholdType), calendar: rule.calendar })),
    now,
  );

async function readSpendingStates(
  ctx: Pick<AlertContext, "store" | "clock">,
  rules: readonly (Measuring & { thresholdType: ThresholdType })[],
): Promise<RuleState[]> {
  if (rules.length === 0) return [];
  const now = ctx.clock.now();
  const windows = await readRuleWindows(ctx, rules, now);
  const values = await readMeasured(ctx, rules, now);
  const paced = rules.flatMap((rule, index) => {
    const window = PACED_WINDOWS[periodOf(rule.thresholdType)];
    const scope = rule.shape === null ? rule.scope : values[index]?.scope;
    return window === undefined || scope === undefined ? [] : [{ rule, window, scope }];
  });
  const paces = await readPaces(ctx.store, paced, now);
  const runIds = values.flatMap((value) => value?.kind === "run" ? [value.id!] : []);
  const sessions = await readSessionsOfRuns(ctx.store, runIds);
  const paceOf = new Map(paced.map(({ rule }, index) => [rule, paces[index]]));
  return rules.map((rule, index) => {
    const { thresholdType: type, thresholdNanoUsd: limitNanoUsd } = rule;
    const measured = values[index] ?? null;
    const value = measured?.nanoUsd ?? null;
    const window = windows[index]!;
    const isTimed = window.to !== null;
    const limit = {
      leftNanoUsd: limitNanoUsd - (value ?? 0n),
      endsAt: window.resetsAt,
      ...(type === "per_hour_usd" && { rolling: { limitNanoUsd, lengthMs: ROLLING_MS } }),
    };
    return {
      value_usd: value === null ? null : toUsd(value),
      window_start: isTimed ? toIso(window.from) : null,
      ...((!isTimed || rule.shape !== null) && { counter: counterOf(measured, sessions) }),
      ...describePace(limit, paceOf.get(rule), now),
    };
  });
}

/** Returns the run or session of a value in wire form. */
function counterOf(
  measured: Measured | null,
  sessions: ReadonlyMap<string, string | null>,
): AlertRule["counter"] {
  const { kind, id } = measured ?? {};
  if (kind === undefined || id === undefined) return null;
  return kind === "run" ? { kind, id, session_id: sessions.get(id) ?? null } : { kind, id };
}

/** The number of newest runs or sessions that are searched among those without a row of their own in this database. */
const NEWEST = 1_000;

/** SQL for the newest run or session of a scope that has any spend, and its spend, as `1250000000 ses_1`. */
function newest(kind: "run" | "session", table: string, time: string): string {
  const key = `${kind}_id`;
  const agent = textAt("min", "first_at", "agent_id");
  const tail = `calls c ${NOT_INDEXED} WHERE ${
    isAfter(TOTALS_POSITION, "c.position")
  } AND c.${key} IS NOT NULL`;
  // LIMIT, so that the id is searched once, however often it is used.
  const spend = atMost64Bits(`${counterValue(kind, "i.id")} + ${sumOfTail(`c.${key} = i.id`)}`);
  return `(SELECT CAST(${spend} AS TEXT) || ' ' || i.id FROM (SELECT coalesce(
    (SELECT k.${key} FROM ${table} k WHERE k.agent_id = t.scope
      AND (EXISTS (SELECT 1 FROM usage_${kind}s x WHERE x.${key} = k.${key}) OR k.${key} IN (SELECT c.${key} FROM ${tail}))
      ORDER BY k.${time} DESC LIMIT 1),
    (SELECT ${key} FROM (
      SELECT * FROM (SELECT ${key}, agent_id, first_at, 0 AS position FROM usage_${kind}s
        ORDER BY first_at DESC, ${key} DESC LIMIT ${NEWEST}) newest
      UNION ALL SELECT ${key}, agent_id, first_at, 0 FROM usage_${kind}s WHERE ${key} IN (SELECT c.${key} FROM ${tail})
      UNION ALL SELECT c.${key}, c.agent_id, c.at, c.position FROM ${tail}
    ) known GROUP BY ${key} HAVING t.scope = '' OR ${agent} = t.scope ORDER BY min(first_at) DESC, ${key} DESC LIMIT 1)
  ) AS id LIMIT 1) i WHERE i.id IS NOT NULL)`;
}

const within = (from: string, to: string) => `c.at >= ${from} AND c.at < ${to} AND ${isInScope("t.scope")}`;

/** SQL for the hour from t.starts up to t.ends: its whole minutes, corrected at both ends by the calls of the ledger. */
function hour(): string {
  const second = startSql("minute", "t.starts", 1);
  const end = startSql("minute", "t.ends - 1", 1);
  const calls = (from: string, to: string) =>
    sumOfCalls(`${indexedBy("calls_by_time")} WHERE ${within(from, to)}`);
  return `${counterSum("minute", "t.scope", second, end)} + ${sumOfTail(within(second, end))}
    - ${calls("t.ends", end)} + ${calls("t.starts", second)}`;
}

const READ = `WITH t AS (
  SELECT CAST(key AS BIGINT) AS n, value ->> 0 AS type, value ->> 1 AS scope, CAST(value ->> 2 AS BIGINT) AS starts,
    CAST(value ->> 3 AS BIGINT) AS ends, value ->> 4 AS days
  FROM json_each(?)
)
SELECT CASE t.type
  WHEN 'per_run_usd' THEN ${newest("run", "runs", "started_at")}
  WHEN 'per_session_usd' THEN ${newest("session", "sessions", "updated_at")}
  WHEN 'per_hour_usd' THEN CAST(${atMost64Bits(hour())} AS TEXT)
  ELSE CAST(${
  atMost64Bits(
    `${sumOfKind("t.days", "t.scope", "t.starts", "t.ends")} + ${sumOfTail(within("t.starts", "t.ends"))}`,
  )
} AS TEXT)
END FROM t ORDER BY t.n`;

type SpendingRule = Pick<RuleRow, "scope" | "each" | "shape" | "calendar"> & { thresholdType: ThresholdType };

/** The value that a rule measures at present, and the run, the session or the counter of subjects that has it. */
type Measured = { nanoUsd: NanoUsd; scope?: string; kind?: string; id?: string };

/**
 * Reads what each rule measures at present: its hour, day or month so far; per run or session, the newest one in which its
 * agent (or any agent) has spent; of a rule with many counters, the one with the most spending. Null before the first call.
 */
export async function readMeasured(
  ctx: Pick<AlertContext, "store">,
  rules: readonly SpendingRule[],
  now: number,
): Promise<(Measured | null)[]> {
  const isOfSubjects = ({ scope, shape }: SpendingRule) => shape !== null || isScopeBy(scope);
  const [subjects, plain] = [rules.filter(isOfSubjects), rules.filter((rule) => !isOfSubjects(rule))];
  const [ofSubjects, ofPlain] = await Promise.all([
    readLargest(ctx, subjects.map((rule) => ({ ...rule, per: periodOf(rule.thresholdType) })), now),
    plain.length === 0 ? [] : readPlain(ctx, plain, now),
  ]);
  const values = new Map<SpendingRule, Measured | null>(plain.map((rule, index) => [rule, ofPlain[index]!]));
  for (const [index, largest] of ofSubjects.entries()) {
    const { each, shape, thresholdType } = subjects[index]!;
    const part = each ?? (thresholdType === "per_session_usd" ? "session" : null);
    values.set(
      subjects[index]!,
      largest && {
        ...largest,
        ...(shape !== null && counterIn(largest.scope, part)!),
      },
    );
  }
  return rules.map((rule) => values.get(rule) ?? null);
}

/** Reads what rules over all calls or those of an agent measure. */
async function readPlain(
  ctx: Pick<AlertContext, "store">,
  rules: readonly SpendingRule[],
  now: number,
): Promise<(Measured | null)[]> {
  const keyOf = ({ thresholdType, scope, calendar }: SpendingRule) => `${thresholdType} ${calendar} ${scope}`;
  const spans = await readRuleWindows(ctx, rules, now);
  const windows = new Map(rules.map((rule, index) => [keyOf(rule), parametersOf(rule, spans[index]!)]));
  const { rows } = await ctx.store.read({ sql: READ, args: [JSON.stringify([...windows.values()])] });
  const values = new Map([...windows.keys()].map((key, index) => [key, rows[index]![0]]));
  return rules.map((rule) => {
    const value = values.get(keyOf(rule)) ?? null;
    if (value === null) return null;
    const [amount, id] = (value as string).split(/ (.*)/s) as [string, string?];
    const nanoUsd = BigInt(amount);
    return id === undefined
      ? { nanoUsd }
      : { nanoUsd, kind: rule.thresholdType === "per_run_usd" ? "run" : "session", id };
  });
}

/** Returns the parameters of a window in the query; rules may share one. */
function parametersOf({ thresholdType, scope, calendar }: SpendingRule, { from, to }: Window) {
  return [thresholdType, scope, from, to ?? 0, daysOf(calendarIn(calendar)) ?? "day"];
}
