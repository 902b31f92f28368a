import assert from "node:assert/strict";
import { bookInModel, type RuleState, valueOf } from "./decision_model.ts";
import { type ModelCall, toModelCall } from "../../src/ledger/mod.ts";
import { USER_TABLES } from "../../src/store/dialect.ts";
import { type RowTrigger, rowTrigger } from "../../src/store/schema/row_trigger.ts";
import { createQuery, type Store, tables, toObjects } from "../../src/store/mod.ts";

/*
 * A log of the decisions on alerts, written by triggers of the test: each decision with its time, each alert, and each
 * change of a rule, in the order of the commits. The model can then be checked against any history of any processes.
 */

const END = "(SELECT coalesce(max(position), 0) FROM calls)";
const DECIDED = "(SELECT position FROM rollup_positions WHERE name = 'decisions')";
const LINE = ["rule_id", "threshold_type", "threshold_nano_usd", "cooldown_ms", "repeat", "scope", "enabled"];
const ruleOf = (row: "NEW" | "OLD") =>
  LINE.map((column) => `'${column}', CAST(${row}.${column} AS TEXT)`).join(", ");
const logEntry = (what: string, more = "NULL", detail = "NULL") =>
  `INSERT INTO decision_log (what, ledger_end, decided, more, detail) VALUES ('${what}', ${END}, ${DECIDED}, ${more}, ${detail});`;

/** By their names they come before the triggers of a decision in PostgreSQL. */
const loggersOf = (jsonOf: (fields: string) => string, now: string): readonly RowTrigger[] => [
  {
    name: "a_logged_decision",
    event: "INSTEAD OF INSERT ON decisions",
    body: logEntry("decided", "NEW.now", "CAST(NEW.position AS TEXT)"),
  },
  {
    name: "a_logged_alert",
    event: "AFTER INSERT ON alerts",
    when: "NEW.is_test = 0",
    body: logEntry(
      "fired",
      "NEW.triggered_at",
      jsonOf(`'ruleId', NEW.rule_id, 'value', CAST(NEW.value_nano_usd AS TEXT), 'runId', NEW.run_id,
        'sessionId', NEW.session_id`),
    ),
  },
  {
    name: "a_logged_rule",
    event: "AFTER INSERT ON alert_rules",
    body: logEntry("rule", "NULL", jsonOf(ruleOf("NEW"))),
  },
  {
    name: "a_logged_change",
    event: `AFTER UPDATE OF ${LINE.slice(1).join(", ")} ON alert_rules`,
    body: logEntry("changed", "NULL", jsonOf(ruleOf("NEW"))),
  },
  {
    name: "a_logged_removal",
    event: "AFTER DELETE ON alert_rules",
    body: logEntry("removed", "NULL", jsonOf(ruleOf("OLD"))),
  },
  {
    name: "a_logged_quiet_set",
    event: "AFTER INSERT ON rollup_positions",
    when: "NEW.name = 'quiet'",
    body: logEntry("quiet", now),
  },
  {
    name: "a_logged_pass",
    event: "AFTER UPDATE OF position ON rollup_positions",
    when: "NEW.name = 'decisions'",
    body: logEntry("passed"),
  },
];

/** Starts the log of a database. */
export async function logDecisions(store: Store): Promise<void> {
  const { rows } = await store.read({ sql: USER_TABLES });
  if (rows.some(([name]) => name === "decision_log")) return;
  const isPostgres = store.engine === "postgres";
  const loggers = isPostgres
    ? loggersOf(
      (fields) => `CAST(json_build_object(${fields}) AS TEXT)`,
      "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
    )
    : loggersOf(
      (fields) => `json_object(${fields})`,
      "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    );
  const step = isPostgres
    ? "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    : "INTEGER PRIMARY KEY AUTOINCREMENT";
  await store.write([
    `CREATE TABLE decision_log (step ${step}, what TEXT NOT NULL, ledger_end BIGINT NOT NULL, decided BIGINT NOT NULL,
      more BIGINT, detail TEXT)`,
    ...loggers.flatMap(rowTrigger).filter(({ engine }) => engine === store.engine).flatMap(({ sql }) => sql),
  ].map((sql) => ({ sql })));
}

interface Logged {
  what: "decided" | "fired" | "rule" | "changed" | "removed" | "quiet" | "passed";
  ledger_end: bigint;
  decided: bigint;
  more: bigint | null;
  detail: string | null;
}

/** The findings of the check of a history. */
export interface DecisionCounts {
  decisions: number;
  /** Calls of sets that could fire nothing, which were counted at once. */
  quiet: number;
  alerts: number;
  changes: number;
}

/**
 * Checks that each call is evaluated once, in the order of the ledger, by the rules of that moment, and fires what the
 * model fires and no more; a change of a rule comes after the evaluation of all earlier calls. `hasClockSteps`: a clock may
 * have been set back between two firings.
 */
export async function checkDecisions(
  store: Store,
  { hasClockSteps = false } = {},
): Promise<DecisionCounts> {
  const [logged, positions, stored, tallied] = await store.readAll([
    { sql: "SELECT what, ledger_end, decided, more, detail FROM decision_log ORDER BY step" },
    { sql: "SELECT position, call_id, adjusts IS NOT NULL FROM calls ORDER BY position" },
    {
      sql:
        "SELECT rule_id, run_id, session_id, value_nano_usd FROM alerts WHERE is_test = 0 ORDER BY position",
    },
    { sql: "SELECT coalesce(sum(count), 0) FROM tallies WHERE what = 'alert'" },
  ]);
  const rows = await createQuery(store).select().from(tables.calls);
  const byId = new Map(rows.map((row) => [row.callId, toModelCall(row)]));
  const callAt = new Map(
    positions!.rows.map(([position, id]) => [position as bigint, byId.get(id as string)!]),
  );

  const adjustments = new Set(positions!.rows.flatMap(([position, , adjusts]) => adjusts ? [position] : []));
  const states = new Map<string, RuleState>();
  const booked: ModelCall[] = [];
  const sum = rememberingSum();
  const counts = { decisions: 0, quiet: 0, alerts: 0, changes: 0 };
  let quietAt: number | undefined;
  let decided = 0n;
  let expected: string[] = [];
  let fired: string[] = [];
  const allFired: string[] = [];
  const lastFired = new Map<string, number>();
  const settle = () => {
    assert.deepEqual(
      fired.sort(),
      expected.sort(),
      `the call at position ${decided} fires what the model fires`,
    );
    allFired.push(...fired);
    [expected, fired] = [[], []];
  };
  for (const { what, ledger_end, decided: passed, more, detail } of toObjects<Logged>(logged!)) {
    if (what === "fired") {
      const { ruleId, value, runId, sessionId } = JSON.parse(detail!);
      fired.push(textOf({ ruleId, value: BigInt(value), runId, sessionId }));
      const [last, cooldownMs] = [lastFired.get(ruleId), states.get(ruleId)?.rule.cooldownMs ?? 0];
      const isRested = last === undefined || Number(more) >= last + cooldownMs;
      assert.ok(isRested || hasClockSteps, `${ruleId} fires in its cooldown`);
      lastFired.set(ruleId, Number(more));
      counts.alerts++;
      continue;
    }
    if (what === "decided") {
      settle();
      decide(BigInt(detail!), Number(more));
      continue;
    }
    settle();
    if (what === "quiet") {
      quietAt = Number(more);
      continue;
    }
    if (what === "passed") {
      if (passed > decided && quietAt !== undefined) {
        passQuietly(passed, quietAt);
        quietAt = undefined;
      } else if (passed > decided) {
        const enabled = [...states.values()].filter(({ rule }) => rule.enabled);
        assert.deepEqual(
          enabled,
          [],
          `calls ${decided + 1n} to ${passed} were passed while there was a rule`,
        );
        for (; decided < passed;) push(++decided);
      }
      continue;
    }
    counts.changes++;
    const rule = readRule(detail!);
    const known = states.get(rule.ruleId);
    if (rule.enabled || known?.rule.enabled) {
      assert.equal(passed, ledger_end, `a rule that is ${what} finds each call evaluated`);
    }
    if (what === "removed") states.delete(rule.ruleId);
    else if (!known) states.set(rule.ruleId, { rule, firedAt: null, claims: new Set(), isOver: false });
    else {
      const hasMoved = (["thresholdType", "thresholdNanoUsd", "repeat", "scope"] as const).some((key) =>
        rule[key] !== known.rule[key]
      );
      if (hasMoved) [known.claims, known.isOver] = [new Set(), false];
      known.rule = rule;
    }
  }
  settle();
  assert.ok(tallied!.rows[0]![0] === BigInt(counts.alerts), "each alert is tallied once");
  const kept = stored!.rows.map(([ruleId, runId, sessionId, value]) =>
    textOf({
      ruleId: ruleId as string,
      value: value as bigint,
      runId: runId as string | null,
      sessionId: sessionId as string | null,
    })
  );
  assert.ok(kept.length >= Math.min(counts.alerts, 500), "the newest alerts are kept");
  const left = Map.groupBy(allFired, (text) => text);
  for (const text of kept) assert.ok(left.get(text)?.pop(), `an alert in the history was fired: ${text}`);
  return counts;

  function push(position: bigint): ModelCall {
    const call = callAt.get(position);
    assert.ok(call, `there is a call at position ${position}`);
    booked.push(call);
    return call;
  }

  /** The time of the set was not before its last call, and not after that of the log. */
  function passQuietly(upTo: bigint, latest: number): void {
    const first = decided + 1n;
    const earliest = Math.max(
      ...[...callAt].filter(([position]) => position >= first && position <= upTo).map(([, { at }]) => at),
    );
    for (; decided < upTo;) {
      counts.quiet++;
      const position = ++decided;
      if (adjustments.has(position)) {
        push(position);
        continue;
      }
      const call = callAt.get(position);
      assert.ok(call, `there is a call at position ${position}`);
      const sooner = structuredClone([...states.values()]);
      if (bookInModel([...states.values()], booked, [call], latest, sum).length === 0) continue;
      assert.deepEqual(
        bookInModel(sooner, booked.slice(0, -1), [call], earliest),
        [],
        `the call at position ${position}, which is counted in a quiet set, fires nothing in the model`,
      );
      for (const state of sooner) states.set(state.rule.ruleId, state);
    }
  }

  function decide(position: bigint, now: number): void {
    assert.equal(position, decided + 1n, "calls are evaluated once, in their order");
    decided = position;
    counts.decisions++;
    const call = callAt.get(position);
    assert.ok(call, `there is a call at position ${position}`);
    // An adjustment counts, and fires nothing.
    if (adjustments.has(position)) return void booked.push(call);
    expected = bookInModel([...states.values()], booked, [call], now, sum).map(textOf);
  }
}

function textOf(
  alert: { ruleId: string; value: bigint; runId: string | null; sessionId: string | null },
): string {
  return `${alert.ruleId} at ${alert.value} by run ${alert.runId}, session ${alert.sessionId}`;
}

function readRule(text: string): RuleState["rule"] {
  const row = JSON.parse(text) as Record<string, string>;
  return {
    ruleId: row.rule_id!,
    thresholdType: row.threshold_type as RuleState["rule"]["thresholdType"],
    thresholdNanoUsd: BigInt(row.threshold_nano_usd!),
    cooldownMs: Number(row.cooldown_ms),
    repeat: row.repeat as RuleState["rule"]["repeat"],
    scope: row.scope!,
    enabled: row.enabled === "1",
    each: null,
    shape: null,
    calendar: null,
  };
}

/** `valueOf` with a cache of the sum of each window so far: calls are only ever added at the end. */
function rememberingSum(): typeof valueOf {
  const known = new Map<string, { sum: bigint; upTo: number }>();
  return (window, booked) => {
    const { type, scope, id, from, to } = window;
    const key = JSON.stringify([type, scope, id, from, to]);
    const seen = known.get(key) ?? { sum: 0n, upTo: 0 };
    seen.sum += valueOf(window, booked.slice(seen.upTo));
    seen.upTo = booked.length;
    if (type !== "per_hour_usd") known.set(key, seen);
    return seen.sum;
  };
}
