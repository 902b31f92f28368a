import { z } from "@hono/zod-openapi";
import { SHARED_RULES } from "./values.ts";
import { Count, Position, Time } from "./parts.ts";
import { TAG_LIMITS } from "./tags/tags.ts";

/** An exact amount: a JSON number has too few digits for what people are charged. */
const UsdText = z.string().openapi({
  example: "1204.000150601",
  description: "Exact USD, at most nine decimals",
});

const StatementMonth = z.string().regex(
  /^\d{4}-(?:0[1-9]|1[0-2])$/,
  "must be a month, such as 2026-10",
)
  .openapi({ example: "2026-10" });

const StatementTag = z.string().regex(new RegExp(`^${TAG_LIMITS.key}$`), "must be the key of a tag")
  .openapi({ example: "team", description: "The key of a tag: each of its values is a subject" });

/** The most that a markup adds. */
const MAX_MARKUP = 100;

const Markup = z.string().regex(
  /^\d{1,3}(?:\.\d{1,4})?$/,
  `must be a percentage from 0 to ${MAX_MARKUP}, such as 5 or 2.5`,
)
  .refine((text) => Number(text) <= MAX_MARKUP, `must be at most ${MAX_MARKUP}`)
  .openapi({
    example: "5",
    description: `Percent that is added to each amount, 0 to ${MAX_MARKUP}; 0 if not given`,
  });

/** The fields of a query or a body that choose a statement. */
export const statementFields = {
  month: StatementMonth,
  by: StatementTag,
  markup: Markup.optional(),
  shared: z.enum(SHARED_RULES).optional().openapi({
    description:
      "How the lines of bills that are no calls, such as fees, are divided: by the share of each subject's cost, evenly, or not at all; " +
      "by-share if not given",
  }),
};

const amounts = { amount_usd: UsdText, markup_usd: UsdText, total_usd: UsdText };
const totals = { ...amounts, corrections_usd: UsdText, shared_usd: UsdText };

const Subject = z.string().nullable().openapi({
  description: "The value of the tag; null for calls without it",
});

const Line = z.object({
  subject: Subject,
  provider: z.string(),
  model: z.string(),
  model_calls: z.number().int(),
  unpriced_calls: z.number().int(),
  total_tokens: z.number().int(),
  ...amounts,
});

export const CostStatement = z.object({
  month: z.string(),
  by: z.string(),
  time_zone: z.string(),
  from: Time,
  to: Time,
  version: Count.nullable().openapi({ description: "Null for a draft, which is not kept" }),
  issued_at: Time.nullable(),
  latest_version: Count.nullable().openapi({
    description: "The version that was issued last; null if none was",
  }),
  up_to_position: Position.openapi({ description: "The newest entry of the ledger that it includes" }),
  markup_percent: z.string(),
  shared: z.enum(SHARED_RULES),
  subjects: z.array(z.object({ subject: Subject, ...totals })),
  lines: z.array(Line),
  corrections: z.array(Line.extend({ of_month: z.string() })).openapi({
    description: "Late calls and adjustments of earlier months whose statements were issued before",
  }),
  shared_costs: z.array(z.object({
    of_month: z.string().nullable().openapi({
      description: "Of a correction: the month that was closed before it came",
    }),
    source: z.string(),
    category: z.string(),
    description: z.string(),
    amount_usd: UsdText,
  })),
  unshared_usd: UsdText.openapi({ description: "What of the shared costs is charged to no subject" }),
  total: z.object({ model_calls: z.number().int(), unpriced_calls: z.number().int(), ...totals }),
  changes: z.array(
    z.object({ subject: Subject, before_usd: UsdText, after_usd: UsdText, difference_usd: UsdText }),
  )
    .nullable().openapi({
      description: "The totals that differ from those of the version before; null if there is none",
    }),
}).openapi("CostStatement");
export type CostStatement = z.infer<typeof CostStatement>;
export type StatementLine = CostStatement["lines"][number];
