import { z } from "@hono/zod-openapi";
import { namedValues, nameFields } from "../costs/dimension_fields.ts";
import { Count, pace, RunId, SessionId, Time, Usd } from "../parts.ts";
import { BUDGET_STATES, HOLD_REASONS } from "../values.ts";

/** The wire schemas of the state of a budget: its figures in the present window. */

const KIND = "`agent`, `session`, `run`, `key`, `model`, `provider`, `source`, `tree` or `tag:KEY`";

/** One of the counters of a budget or a rule that has many. */
export const BudgetCounter = z.object({
  kind: z.string().openapi({ description: `${KIND}; \`calls\` for several together`, example: "agent" }),
  id: z.string().openapi({ example: "researcher" }),
  session_id: SessionId.nullable().optional().openapi({
    description: "Of a run: its session, null before its first call, and of a run without a session",
  }),
}).openapi("BudgetCounter");
export type BudgetCounter = z.infer<typeof BudgetCounter>;

/** A name in a budget or a rule that nothing here has. */
export const UnknownName = z.object({
  kind: z.string().openapi({ description: KIND, example: "agent" }),
  id: z.string().openapi({ example: "reseacher" }),
  nearest: z.string().nullable().openapi({
    description: "The nearest known name; null where none is near",
    example: "researcher",
  }),
}).openapi("UnknownName", {
  description:
    "A name that is probably misspelled: there is no call of it, and another one is near; an API key that doesn't exist; or a tag, " +
    "model, provider or source for which nothing has been spent so far",
});
export type UnknownName = z.infer<typeof UnknownName>;

const HIDDEN = "Absent for a key of one agent where other agents count too";

const figures = {
  extra_usd: Usd.openapi({ description: "The raises of the limit that hold at present" }),
  spent_usd: Usd.openapi({ description: "Booked in the present window" }),
  reserved_usd: Usd.openapi({
    description:
      "Held for calls in progress: for `stop` their estimates, for `strict` the most that they can cost",
  }),
  left_usd: Usd.openapi({
    description: "`limit_usd` and `extra_usd` without `spent_usd` and `reserved_usd`; at least 0",
  }),
};

/** The present window of a budget. */
export const budgetWindow = {
  unpriced_calls: Count.optional().openapi({
    description: "Calls in the window whose cost is not known, and not counted; absent without any",
  }),
  window_start: Time.nullable().openapi({ description: "Null where all there is counts" }),
  resets_at: Time.nullable().openapi({
    description: "End of the present window; null for a rolling hour, and where there is no end",
  }),
  state: z.enum(BUDGET_STATES).openapi({
    description:
      "`near` from the lowest of `warn_at` on, and from 90% of the limit without a lower one; `reached` from the limit with its raises on",
  }),
};

const { extra_usd, spent_usd, reserved_usd, left_usd } = figures;

/** The id of a reservation of a process: that of the process, a slash, and its own. */
export const HeldId = z.string().min(1).max(300).openapi({
  example: "inst_01k9qv3v8c7e9g1j3m5p7r9t1w/req_01k9qv3v8e9g1j3m5p7r9t1w3y",
});

/** A part of a strict budget that is held for a call that is not in progress. */
export const BudgetHold = z.object({
  reservation_id: HeldId,
  held_usd: Usd.openapi({
    description: "The most that the call may have cost, or may have cost beyond what is booked",
  }),
  at: Time.openapi({ description: "When it was reserved" }),
  reason: z.enum(HOLD_REASONS).openapi({
    description:
      "`unbooked`: the call may have been sent and is not booked, since its process ended or could not book it; " +
      "`uncounted`: the provider's count never arrived, or the connection ended within the request",
  }),
  ...namedValues,
  ...nameFields((kind) => ({ description: `The name of that ${kind}; null where it is not known` })),
  run_id: RunId.nullable(),
}).openapi("BudgetHold");
export type BudgetHold = z.infer<typeof BudgetHold>;

/** One counter of a budget that has many, with its amounts. */
export const BudgetCounterState = z.object({
  ...BudgetCounter.shape,
  ...nameFields((kind) => ({ description: `Of a ${kind}: its name; null where it is not known` })),
  ...figures,
  ...budgetWindow,
}).openapi("BudgetCounterState");
export type BudgetCounterState = z.infer<typeof BudgetCounterState>;

export const BudgetState = z.object({
  extra_usd: extra_usd.optional(),
  spent_usd: spent_usd.optional().openapi({ description: `Booked in the present window. ${HIDDEN}` }),
  reserved_usd: reserved_usd.optional(),
  left_usd: left_usd.optional(),
  held_usd: Usd.optional().openapi({
    description: "With `strict`: the part of `reserved_usd` for calls that are not in progress",
  }),
  holds: z.array(BudgetHold).optional().openapi({
    description: "Of one budget in mode `strict`: what it holds for them, the newest 100",
  }),
  ...budgetWindow,
  ...pace,
  counter: BudgetCounter.nullish().openapi({
    description:
      "Of a budget with many counters (`each`, or per run or session): the counter of these figures, which has " +
      "the most spent in the present window; null before the first call",
  }),
  ...nameFields(() => ({
    description:
      "Of a budget of one API key, or whose `counter` is one: the key's name; null of an unknown key",
  })),
  refused_calls: Count.optional().openapi({
    description: `Calls that it refused, or with \`watch\` would have refused, since it exists. ${HIDDEN}`,
  }),
  last_refused_at: Time.nullable().optional(),
  unknown: UnknownName.optional(),
});
export type BudgetState = z.infer<typeof BudgetState>;
