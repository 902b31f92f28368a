import { z } from "@hono/zod-openapi";
import { MAX_BILL_LINES } from "../limits.ts";
import { Count, id, Position, Time } from "../parts.ts";
import { BILL_CATEGORIES, BILL_LINE_STATES, BILL_LINE_TEXTS, BILL_SERIES } from "../values.ts";

/** The wire schemas of the lines of providers' bills and of their imports. */

export const BillImportId = id("bim_01k9qv3v6a5c7e9g1j3m5p7r9t");
export const Month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, "must be a month, such as 2026-11")
  .openapi({ example: "2026-11" });
export const BillSourceName = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "must be the name of a source")
  .openapi({ example: "anthropic" });

const text = z.string().max(1_000).regex(/^[^\0]*$/, "must have no NUL");
export const BillAccount = text.max(200);
const decimal = z.string().max(500).openapi({
  description: "A decimal number of any precision",
  example: "0.0288384",
});
const BodyTime = z.iso.datetime({ offset: true }).openapi({ example: "2026-11-25T00:00:00.000Z" });
const unknown = z.record(z.string().max(200), z.int().min(0)).openapi({
  description: "The parts that were not understood, with their number",
  example: { "field group.foo": 3 },
});

const each = <Schema extends z.ZodType>(schema: Schema) =>
  Object.fromEntries(BILL_LINE_TEXTS.map((name) => [name, schema])) as Record<
    typeof BILL_LINE_TEXTS[number],
    Schema
  >;

const series = z.enum(BILL_SERIES);
const category = z.enum(BILL_CATEGORIES);

/** A line that a client has read of a file. */
export const BillLineBody = z.strictObject({
  series,
  category,
  starts_at: BodyTime,
  ends_at: BodyTime,
  ...each(text.optional()),
  is_batch: z.boolean().optional(),
  other: z.record(z.string().max(100), text).optional(),
  quantity: decimal.optional(),
  amount: decimal.optional(),
  list_amount: decimal.optional(),
  is_equivalent: z.boolean().optional(),
}).openapi("BillLineBody");

export const BillLine = z.object({
  position: Position,
  source: z.string(),
  account: z.string(),
  import_id: BillImportId,
  state: z.enum(BILL_LINE_STATES),
  revision: Count.openapi({ description: "1, and one more for each change" }),
  replaced_by: BillImportId.nullable().openapi({ description: "The import that has replaced it" }),
  month: Month.openapi({ description: "The period that it belongs to" }),
  series,
  category,
  starts_at: Time,
  ends_at: Time,
  ...each(z.string().nullable()),
  is_batch: z.boolean().nullable(),
  other: z.record(z.string(), z.string()).nullable().openapi({
    description: "Other dimensions of the source",
  }),
  quantity: decimal.nullable(),
  amount: decimal.nullable().openapi({ description: "To be paid, after discounts, in units of `currency`" }),
  list_amount: decimal.nullable().openapi({ description: "The same before discounts" }),
  is_equivalent: z.boolean().openapi({
    description: "The price by the API of a call that a subscription or another provider bills: in no sum",
  }),
}).openapi("BillLine");
export type BillLine = z.infer<typeof BillLine>;

export const BillImport = z.object({
  import_id: BillImportId,
  source: z.string(),
  account: z.string(),
  status: z.enum(["in_progress", "done", "failed"]),
  from: Time,
  to: Time,
  sha256: z.string().nullable().openapi({ description: "Of a file" }),
  refreshed_at: Time.nullable().openapi({ description: "When the source had counted, where it says so" }),
  lines: Count,
  new_lines: Count,
  revised_lines: Count.openapi({
    description:
      "Lines of earlier imports that were replaced: by a revision, or since the source has them no more",
  }),
  unknown,
  error: z.string().nullable(),
  created_at: Time,
  ended_at: Time.nullable(),
  retry_after_seconds: z.number().nullable().openapi({
    description: "The import goes on by the same request again, after this time; else null",
  }),
  reason: z.string().nullable().openapi({ description: "Why it has to wait" }),
}).openapi("BillImport");
export type BillImport = z.infer<typeof BillImport>;

export const BillImportBody = z.strictObject({
  source: BillSourceName,
  account: BillAccount.optional().openapi({
    description: "The provider's account; needed where there are several",
  }),
  from: BodyTime.optional().openapi({ description: "Extended to whole days of UTC" }),
  to: BodyTime.optional(),
  by_minute: z.boolean().optional().openapi({ description: "Usage by the minute, where the source has it" }),
  file: z.strictObject({
    sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hexadecimal"),
    how: text.default("").openapi({
      description: "What its lines depend on besides, such as names of columns",
    }),
  }).optional().openapi({ description: "A file whose lines follow; the window, if given, has no others" }),
}).superRefine(({ from, to, file }, { addIssue }) => {
  if ((from === undefined) !== (to === undefined) || (from === undefined && file === undefined)) {
    addIssue({ code: "custom", path: ["from"], message: "must be given together with to" });
  }
}).openapi("BillImportBody");

export const BillLinesBody = z.strictObject({
  offset: z.int().min(0).max(2 ** 31).openapi({
    description: "The number of lines of the import before these",
  }),
  lines: z.array(BillLineBody).max(MAX_BILL_LINES),
  unknown: unknown.default({}),
  is_last: z.boolean(),
}).openapi("BillLinesBody");
