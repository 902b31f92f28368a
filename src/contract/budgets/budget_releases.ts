import { z } from "@hono/zod-openapi";
import { keyFields } from "../costs/dimension_fields.ts";
import { id, Label, Time, Usd } from "../parts.ts";
import { HeldId } from "./budget_state.ts";
import { BudgetId } from "./budgets.ts";

/**
 * The wire schemas of releases: an admin gives back the amounts that a strict budget holds for calls that are not in progress.
 */

export const BudgetReleaseBody = z.strictObject({
  reservation_id: HeldId.optional().openapi({
    description: "What to release; if not given, all that the budget holds in its present windows",
  }),
  reason: Label.openapi({
    description: "For those that read it later",
    example: "Not on the provider's bill",
  }),
}).openapi("BudgetReleaseBody");
export type BudgetReleaseBody = z.infer<typeof BudgetReleaseBody>;

export const BudgetRelease = z.object({
  release_id: id("release_01k9qv3v8d8f0h2k4n6q8s0v2x"),
  budget_id: BudgetId,
  reservation_ids: z.array(HeldId).openapi({ description: "No budget holds them any more" }),
  released_usd: Usd,
  reason: z.string(),
  ...keyFields("The API key that released it; null without one"),
  created_at: Time,
}).openapi("BudgetRelease");
export type BudgetRelease = z.infer<typeof BudgetRelease>;
