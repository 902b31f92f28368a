import { NANO_PER_USD } from "../kernel/money.ts";
import { startSql } from "../contract/windows.ts";
import { type Logic, ORDERED_JOIN, rowTrigger, type Statement } from "../store/mod.ts";
import { tagsOf } from "./cost_conditions.ts";
import { BY, callPartsOf, SHAPE_COLUMNS, shapedAmountOf, shapedScopeOf, shapeRow } from "./scopes/mod.ts";

import { COUNT_NEW_SHAPES_BY_DAY, startIn } from "./calendars.ts";
import { ADD_TO_COUNTER, COUNT_BY_NEW_SHAPES, DECIDED_POSITION } from "./spend_counters.ts";

/*
 * The shapes by which spending is counted besides agents, sessions, keys and runs: see scopes/subjects.ts. A shape is in use while
 * there is a budget or a rule with it. The unit that adds the first one counts all calls up to the position of the counters; from then on
 * each roll-up counts by it too, in whatever process, as it reads the shapes with the calls.
 */

const ADD = `INSERT INTO spend_shapes (${SHAPE_COLUMNS.join(", ")}, is_filled)
SELECT ${
  SHAPE_COLUMNS.map((column) => `v.${column}`).join(", ")
}, 0 FROM each_row v WHERE true ON CONFLICT DO NOTHING`;
const FILLED = "UPDATE spend_shapes SET is_filled = 1 WHERE is_filled = 0";

/** Returns the statements by which shapes come into use. Those that are in use already stay as they are. */
export function addShapes(shapes: readonly string[], now: number): Statement[] {
  if (shapes.length === 0) return [];
  const integers = SHAPE_COLUMNS.filter((column) => column.startsWith("has_"));
  const rows = [...new Set(shapes)].map(shapeRow);
  return [
    { sql: ADD, each: { columns: SHAPE_COLUMNS, integers, rows } },
    { sql: COUNT_BY_NEW_SHAPES, args: [now] },
    COUNT_NEW_SHAPES_BY_DAY,
    { sql: FILLED },
  ];
}

/** A scope is the name of its shape, or that and a blank, which is the character before `!`. */
const isOfShape = (scope: string, shape: string) =>
  `${scope} >= '${BY} ' || ${shape} AND ${scope} < '${BY} ' || ${shape} || '!'`;
const isOfNone = (table: string) =>
  `NOT EXISTS (SELECT 1 FROM ${table} b WHERE b.shape = s.shape OR ${isOfShape("b.scope", "s.shape")})`;
const UNUSED = `SELECT s.shape FROM spend_shapes s WHERE ${isOfNone("budgets")} AND ${
  isOfNone("alert_rules")
}`;
const KINDS = "(SELECT 'minute' AS kind UNION ALL SELECT 'day' UNION ALL SELECT 'lifetime' " +
  "UNION ALL SELECT calendar FROM calendars WHERE is_counted = 1)";

/** The statements that remove the shapes that no budget or rule has any more, with their counters. */
export const DROP_SHAPES: readonly Statement[] = [
  {
    sql: `DELETE FROM spend_counters WHERE (kind, scope, start) IN (
  SELECT w.kind, w.scope, w.start FROM (${UNUSED}) u ${ORDERED_JOIN} ${KINDS} k ON true
  ${ORDERED_JOIN} spend_counters w ON w.kind = k.kind AND ${isOfShape("w.scope", "u.shape")})`,
  },
  { sql: `DELETE FROM spend_shapes WHERE shape IN (${UNUSED})` },
];

/** SQL for counted entries `c` of a call, with the scopes that they have with some tags. */
const moved = (tags: string, sign: "" | "-") =>
  `SELECT ${shapedScopeOf({ ...callPartsOf("c"), tags })} AS scope, ${sign}(${
    shapedAmountOf("c")
  }) AS cost, c.at AS at
  FROM spend_shapes s ${ORDERED_JOIN} (SELECT * FROM calls WHERE call_id = NEW.call_id UNION ALL SELECT * FROM calls WHERE adjusts = NEW.call_id) c
    ON s.tag_1 IS NOT NULL AND c.position <= ${DECIDED_POSITION} AND ${shapedAmountOf("c")} <> 0`;

const move = (before: string) =>
  `INSERT INTO spend_counters (kind, scope, start, whole_usd, rest_nano_usd, first_at)
  SELECT kind, scope, start, sum(cost / ${NANO_PER_USD}), sum(cost % ${NANO_PER_USD}), min(at) FROM (
    SELECT k.kind, m.scope, m.cost, m.at, CASE k.kind WHEN 'minute' THEN ${
    startSql("minute", "m.at")
  } WHEN 'day' THEN ${startSql("day", "m.at")} WHEN 'lifetime' THEN 0 ELSE ${
    startIn("k.kind", "m.at")
  } END AS start
    FROM (${moved(before, "-")} UNION ALL ${moved("NEW.tags", "")}) m
    ${ORDERED_JOIN} ${KINDS} k ON m.scope IS NOT NULL
  ) parts WHERE start IS NOT NULL GROUP BY kind, scope, start ${ADD_TO_COUNTER};`;

/**
 * The scopes of each entry of the ledger by the shapes in use, null where a shape doesn't count it; and the triggers that count a call
 * anew whose tags a witness has changed. Without a shape, the view reads no call.
 */
export const shapeLogic: readonly Logic[] = [
  {
    name: "call_scopes",
    sql: `CREATE VIEW call_scopes AS
SELECT c.position, c.at, ${shapedAmountOf("c")} AS cost_nano_usd, c.unpriced, s.shape, s.is_filled, ${
      shapedScopeOf({ ...callPartsOf("c"), tags: tagsOf("c") })
    } AS scope
FROM spend_shapes s ${ORDERED_JOIN} calls c ON true`,
  },
  ...rowTrigger({ name: "call_tags_added", event: "AFTER INSERT ON call_tags", body: move("c.tags") }),
  ...rowTrigger({ name: "call_tags_changed", event: "AFTER UPDATE ON call_tags", body: move("OLD.tags") }),
];
