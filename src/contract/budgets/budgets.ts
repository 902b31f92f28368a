import { z } from "@hono/zod-openapi";
import { startOf } from "../windows.ts";
import { BudgetMode } from "../agents.ts";
import {
  BUDGET_DEFAULTS,
  FORECAST_PERIODS,
  LABEL_SCHEMA,
  MAX_CALL_USD,
  MAX_WARNINGS,
  RESERVATION_SECONDS,
  WARNING_DECIMALS,
} from "../limits.ts";
import { AgentId, DisplayName, id, name, SessionId, Time, Usd, UsdLimit } from "../parts.ts";
import { invalidInput } from "../schema_issues.ts";
import { BUDGET_ACTIONS, BUDGET_PERIODS } from "../values.ts";
import { BudgetState } from "./budget_state.ts";
import { calendarFields, calendarValues } from "../calendars/calendar_fields.ts";
import { calendarFault } from "../calendars/calendar_input.ts";
import { faultsOfSubjects } from "./faults_of_subjects.ts";
import { callSubjects, EACH, Each, subjectFields, subjectValues } from "./subject_fields.ts";

/** The wire schemas of budgets, and of reservations for calls elsewhere. */

export const BudgetId = id("bud_01k9qv3v8c7e9g1j3m5p7r9t1w");
export const ReservationId = id("rsv_01k9qv3v8e9g1j3m5p7r9t1w3y");

const PER =
  "`run` and `session` count each one by itself, `tree` a session with all its sub-agents; `hour` is the last 60 minutes, `30d` the " +
  "last 30 days and the rest of the day before; `day`, `week`, `month` and `quarter` are of `time_zone`; `lifetime` is all there is";
const EXCEPT = "A budget that names one of them, with the same `per`, takes its place";
const FORECAST =
  "Of a budget per `day`, `week` or `month`: notifies once in a window, before any of `warn_at` is reached, where at the present " +
  "pace the limit will be reached before the window ends";
const ACTION =
  "`watch` refuses nothing and counts the calls that it would have refused; `ask` asks a person for more by a ticket, for which the call waits";

const ONE_OF_A_SHARE = 10 ** WARNING_DECIMALS;

const Share = z.number().refine(
  (share) => share > 0 && share <= 1 && Number.isInteger(Number((share * ONE_OF_A_SHARE).toFixed(6))),
  `must be more than 0 and at most 1, with at most ${WARNING_DECIMALS} decimals`,
).openapi({ type: "number", minimum: 1 / ONE_OF_A_SHARE, maximum: 1 });

const WarnAt = z.array(Share).max(MAX_WARNINGS).refine(
  (shares) => new Set(shares).size === shares.length,
  "must not have a share twice",
);

const WARN_AT = "Shares of the limit at which the channels are notified, once per window";

const Midnight = z.iso.datetime({ offset: true }).refine(
  (text) => startOf("day", Date.parse(text)) === Date.parse(text),
  "must be a midnight in UTC, such as 2026-11-01T00:00:00Z",
).openapi({ format: "date-time", example: "2026-11-01T00:00:00.000Z" });

/** The fields that a budget's author sets, without the rules between them. */
const fields = z.strictObject({
  name: DisplayName.meta({
    ...LABEL_SCHEMA,
    description: "Name in refusals and notifications; not blank",
    examples: ["Day"],
  }),
  limit_usd: UsdLimit,
  per: z.enum(BUDGET_PERIODS).openapi({ description: PER }),
  ...subjectFields,
  each: Each.nullish().openapi({ description: `${EACH}. ${EXCEPT}`, example: "tag:customer" }),
  mode: BudgetMode.optional().openapi({
    description:
      "`stop`: no call is made once the limit is reached; `strict`: no call that could exceed it; of a new budget " +
      `\`${BUDGET_DEFAULTS.mode}\` if not given`,
  }),
  action: z.enum(BUDGET_ACTIONS).optional().openapi({
    description: `${ACTION}; of a new budget \`${BUDGET_DEFAULTS.action}\` if not given`,
  }),
  warn_at: WarnAt.optional().openapi({
    description: `${WARN_AT}; of a new budget ${JSON.stringify(BUDGET_DEFAULTS.warnAt)} if not given`,
  }),
  forecast: z.boolean().optional().openapi({
    description: `${FORECAST}; false if not given`,
  }),
  ...calendarFields,
  counts_from: Midnight.nullish().openapi({
    description: "Of a budget per `lifetime`: spending before this midnight (UTC) doesn't count",
  }),
  allow_unpriced: z.boolean().optional().openapi({
    description: "Allows models without a known price, whose calls count as 0; false if not given",
  }),
  enabled: z.boolean().optional().openapi({ description: "Of a new budget true if not given" }),
});

type Fields = z.infer<typeof fields>;

/** Checks the rules between the fields of a budget. */
function checkFields(budget: Fields, ctx: z.RefinementCtx): void {
  const faults = faultsOfSubjects(budget, budget.per, "a budget");
  const fault = calendarFault(budget);
  if (fault) faults.push(fault);
  if (budget.forecast && !FORECAST_PERIODS.some((per) => per === budget.per)) {
    const message =
      `can't be together with per ${budget.per}: only a day, a week and a month have an end to forecast`;
    faults.push({ path: "forecast", message });
  }
  if (budget.billing != null && budget.mode === "strict") {
    const message =
      `can't be together with mode strict: who has paid for a call is known once it is answered; ` +
      "leave it out for a strict budget of all that is billed";
    faults.push({ path: "billing", message });
  }
  if (budget.counts_from != null && budget.per !== "lifetime") {
    const message = `can't be together with per ${budget.per}: only a budget per lifetime has it`;
    faults.push({ path: "counts_from", message });
  }
  for (const { path, message } of faults) ctx.addIssue({ code: "custom", path: [path], message });
}

/** A budget as a client sends it. */
export const BudgetInput = fields.superRefine(checkFields);
export type BudgetInput = z.infer<typeof BudgetInput>;

/** A change of a budget: any of its fields but the id, at least one. The budget that results is checked as a whole. */
export const BudgetChanges = fields.partial().refine(
  (changes) => Object.values(changes).some((value) => value !== undefined),
  {
    error: `must have at least one of ${Object.keys(fields.shape).join(", ")}`,
    when: ({ issues }) => issues.length === 0,
  },
).meta({ minProperties: 1 });
export type BudgetChanges = z.infer<typeof BudgetChanges>;

/** Checks a whole budget that did not come through a route. Throws `invalid` with every issue and its path. */
export function readBudgetInput(value: unknown): BudgetInput {
  const result = BudgetInput.safeParse(value);
  if (!result.success) throw invalidInput(result.error, "the budget");
  return result.data;
}

export const BudgetBody = BudgetInput.clone().openapi("BudgetBody");
export const BudgetChangesBody = BudgetChanges.clone().openapi("BudgetChanges");

/** The names of the fields that a budget's author sets. */
export const BUDGET_FIELDS = Object.keys(fields.shape) as readonly (keyof Fields)[];

const definition = {
  budget_id: BudgetId,
  name: z.string(),
  limit_usd: Usd,
  per: z.enum(BUDGET_PERIODS).openapi({ description: PER }),
  ...subjectValues,
  each: Each.nullable().openapi({ description: `${EACH}. ${EXCEPT}`, example: "tag:customer" }),
  mode: BudgetMode,
  action: z.enum(BUDGET_ACTIONS).openapi({ description: ACTION }),
  forecast: z.boolean().openapi({ description: FORECAST }),
  warn_at: z.array(z.number()).openapi({ description: `${WARN_AT}, ascending`, example: [0.8, 1] }),
  ...calendarValues,
  counts_from: Time.nullable(),
  allow_unpriced: z.boolean(),
  enabled: z.boolean(),
  created_at: Time,
  updated_at: Time,
};

/** A budget without its state. */
export type BudgetDefinition = z.infer<z.ZodObject<typeof definition>>;

export const Budget = z.object({ ...definition, ...BudgetState.shape }).openapi("Budget");
export type Budget = z.infer<typeof Budget>;

/** A budget as a reader of all agents gets it. */
export type WholeBudget =
  & Budget
  & Required<
    Pick<
      Budget,
      "extra_usd" | "spent_usd" | "reserved_usd" | "left_usd" | "refused_calls" | "last_refused_at"
    >
  >;

const AmountOfCall = UsdLimit.refine((usd) => usd <= MAX_CALL_USD, `must be at most ${MAX_CALL_USD}`)
  .openapi({ type: "number", format: "decimal", minimum: 0, maximum: MAX_CALL_USD, example: 0.05 });

const TTL_RULE = `must be a whole number from 1 to ${RESERVATION_SECONDS.max}`;

export const BudgetReservationBody = z.strictObject({
  agent_id: name("researcher"),
  session_id: name("ses_demo").nullish(),
  ...callSubjects,
  estimate_usd: AmountOfCall.optional().openapi({
    description: "What the call will probably cost; `worst_case_usd` if not given",
  }),
  worst_case_usd: AmountOfCall.optional().openapi({
    description: "The most that the call can cost; without it, strict budgets refuse the call",
  }),
  ttl_seconds: z.number().int(TTL_RULE).min(1, TTL_RULE).max(RESERVATION_SECONDS.max, TTL_RULE).optional()
    .openapi({
      format: "int32",
      description:
        `The reservation ends by itself after this time; ${RESERVATION_SECONDS.default} if not given`,
    }),
}).superRefine(({ estimate_usd, worst_case_usd }, ctx) => {
  if (estimate_usd === undefined && worst_case_usd === undefined) {
    ctx.addIssue({
      code: "custom",
      path: ["estimate_usd"],
      message: "is missing: give it, worst_case_usd, or both",
    });
  } else if (estimate_usd !== undefined && worst_case_usd !== undefined && worst_case_usd < estimate_usd) {
    ctx.addIssue({ code: "custom", path: ["worst_case_usd"], message: "is less than estimate_usd" });
  }
}).openapi("BudgetReservationBody");
export type BudgetReservationBody = z.infer<typeof BudgetReservationBody>;

export const BudgetReservation = z.object({
  reservation_id: ReservationId.openapi({ description: "For the report of the call, which settles it" }),
  agent_id: AgentId,
  session_id: SessionId.nullable(),
  estimate_usd: Usd,
  worst_case_usd: Usd.nullable(),
  expires_at: Time,
}).openapi("BudgetReservation");
export type BudgetReservation = z.infer<typeof BudgetReservation>;
