import { z } from "@hono/zod-openapi";
import { keyFields } from "../costs/dimension_fields.ts";
import { id, Label, orNull, Time, Usd, UsdAboveZero } from "../parts.ts";
import { BudgetId } from "./budgets.ts";
import { BudgetCounter } from "./budget_state.ts";

/** The wire schemas of raises: amounts that are added to the limit of a budget for a time. */

export const RaiseId = id("raise_01k9qv3v8d8f0h2k4n6q8s0v2x");

export const BudgetRaiseBody = z.strictObject({
  extra_usd: UsdAboveZero,
  until: z.iso.datetime({ offset: true }).nullish().openapi({
    format: "date-time",
    description:
      "End of the raise, in the future; if not given, the end of the present window, for an hour one hour from now, " +
      "and without an end for a run, a session or a lifetime",
    example: "2026-11-24T00:00:00.000Z",
  }),
  counter: Label.nullish().openapi({
    description:
      "Of a budget with many counters: the id of the one to raise, such as an agent, or the id or the name of a key; all of " +
      "them if not given",
    example: "researcher",
  }),
  reason: Label.nullish().openapi({ description: "For those that read it later", example: "Release" }),
}).openapi("BudgetRaiseBody");
export type BudgetRaiseBody = z.infer<typeof BudgetRaiseBody>;

export const BudgetRaise = z.object({
  raise_id: RaiseId,
  budget_id: BudgetId,
  extra_usd: Usd,
  until: Time.nullable().openapi({ description: "Null for no end" }),
  reason: z.string().nullable(),
  counter: orNull(BudgetCounter).openapi({
    description: "The counter that it is for; null for all of them",
  }),
  ...keyFields("The API key that raised it; null without one"),
  created_at: Time,
}).openapi("BudgetRaise");
export type BudgetRaise = z.infer<typeof BudgetRaise>;
