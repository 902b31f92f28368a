import { PLAN_THRESHOLD, REPEATS, RULE_THRESHOLDS, SEVERITIES } from "../values.ts";
import { z } from "@hono/zod-openapi";
import { AgentId, Count, DisplayName, id, pace, Severity, Time, Usd, UsdAboveZero } from "../parts.ts";
import { DEFAULT_COOLDOWN_SECONDS, LABEL_SCHEMA, MAX_COOLDOWN_SECONDS } from "../limits.ts";
import { calendarFields, calendarValues } from "../calendars/calendar_fields.ts";
import { BudgetCounter, UnknownName } from "../budgets/budget_state.ts";
import { EACH, Each, subjectFields, subjectValues } from "../budgets/subject_fields.ts";
import { nameFields } from "../costs/dimension_fields.ts";
import { NAME_PATTERN, NAME_RULE } from "../../kernel/ids.ts";
import { invalidInput } from "../schema_issues.ts";

/** The wire schemas of alert rules. */

const COOLDOWN_RULE = `must be a whole number from 0 to ${MAX_COOLDOWN_SECONDS}`;

const OneAgentId = z.string().regex(
  NAME_PATTERN,
  `must be ${NAME_RULE}`,
);

const EXCEPT = "A rule that names one of them, with the same threshold type, takes its place";

const PERCENT_RULE = "must be a percentage from 0.01 to 1000";

/** A rule as a client sends it. */
export const RuleInput = z.strictObject({
  name: DisplayName.meta({
    ...LABEL_SCHEMA,
    description: "Name in notifications; not blank",
    examples: ["Daily limit"],
  }),
  threshold_type: z.enum(RULE_THRESHOLDS),
  threshold_usd: UsdAboveZero.nullish(),
  threshold_pct: z.number(PERCENT_RULE).min(0.01, PERCENT_RULE).max(1_000, PERCENT_RULE)
    .nullish().meta({
      description:
        `Only of the type \`${PLAN_THRESHOLD}\`, in place of \`threshold_usd\`: the share of a window that is used, in percent`,
      examples: [80],
    }),
  severity: z.enum(SEVERITIES),
  cooldown_seconds: z.number().int(COOLDOWN_RULE).min(0, COOLDOWN_RULE).max(
    MAX_COOLDOWN_SECONDS,
    COOLDOWN_RULE,
  )
    .optional().meta({
      description: `Minimum time between two alerts; of a new rule ${DEFAULT_COOLDOWN_SECONDS} if not given`,
    }),
  repeat: z.enum(REPEATS).optional().meta({
    description:
      "While the threshold stays exceeded: again after each cooldown, or once per run, session, day or month, and " +
      "for the hour once until spend has fallen below; of a new rule `cooldown` if not given",
  }),
  ...subjectFields,
  agent_id: OneAgentId.nullish().meta({
    description: "Measures only this agent's calls; null for all agents",
  }),
  each: Each.nullish().meta({ description: `${EACH}. ${EXCEPT}`, examples: ["tag:customer"] }),
  time_zone: calendarFields.time_zone,
  month_start_day: calendarFields.month_start_day,
  enabled: z.boolean().optional().meta({ description: "Of a new rule true if not given" }),
});

export type RuleInput = z.infer<typeof RuleInput>;

/** A change of a rule: any of its fields but the id, at least one. */
export const RuleChanges = RuleInput.partial().refine(
  (changes) => Object.values(changes).some((value) => value !== undefined),
  {
    error: `must have at least one of ${Object.keys(RuleInput.shape).join(", ")}`,
    when: ({ issues }) => issues.length === 0,
  },
).meta({ minProperties: 1 });

export type RuleChanges = z.infer<typeof RuleChanges>;

/** Checks a rule that did not come through a route. Throws `invalid` with every issue and its path. */
export function readRuleInput(value: unknown): RuleInput {
  const result = RuleInput.safeParse(value);
  if (!result.success) throw invalidInput(result.error, "the alert rule");
  return result.data;
}

/** The names of the fields that a rule's author sets. */
export const RULE_FIELDS = Object.keys(RuleInput.shape) as readonly (keyof RuleInput)[];

export const RuleBody = RuleInput.clone().openapi("AlertRuleBody");

export const RuleChangesBody = RuleChanges.clone().openapi("AlertRuleChanges");

export const ThresholdType = z.enum(RULE_THRESHOLDS);

export const RuleId = id("rule_01k9qv3v8c7e9g1j3m5p7r9t1w");

export const AlertRule = z.object({
  rule_id: RuleId,
  name: z.string(),
  threshold_type: ThresholdType,
  threshold_usd: Usd.nullable().openapi({ description: `USD; null of the type \`${PLAN_THRESHOLD}\`` }),
  threshold_pct: z.number().optional().openapi({
    description: `In percent; only of the type \`${PLAN_THRESHOLD}\``,
  }),
  severity: Severity,
  cooldown_seconds: Count,
  repeat: z.enum(REPEATS),
  ...subjectValues,
  agent_id: AgentId.nullable().openapi({ description: "Null for all agents" }),
  ...nameFields((kind) => ({ description: `Of a rule of one ${kind}: its name` })),
  each: Each.nullable().openapi({ description: `${EACH}. ${EXCEPT}`, example: "tag:customer" }),
  time_zone: calendarValues.time_zone,
  month_start_day: calendarValues.month_start_day,
  enabled: z.boolean(),
  last_fired_at: Time.nullable(),
  created_at: Time,
  updated_at: Time,
  value_usd: Usd.nullable().openapi({
    description:
      "Spend in the current window; for a rule per run or session, in the newest one. Null: none yet",
  }),
  value_pct: z.number().nullish().openapi({
    description:
      `Only of the type \`${PLAN_THRESHOLD}\`: what is used of the fullest window; null where none is known`,
  }),
  window_start: Time.nullable().openapi({
    description: "Start of the current window; null per run and session",
  }),
  counter: BudgetCounter.nullish().openapi({
    description:
      "Of a rule per run or session: the run or session with that value; of a rule `each`: the one with the most spending. Null " +
      "before the first call",
  }),
  ...pace,
  unknown: UnknownName.optional(),
}).openapi("AlertRule");

export type AlertRule = z.infer<typeof AlertRule>;
