import { AGENT_STATUSES, SEVERITIES } from "./values.ts";
import { z } from "@hono/zod-openapi";
import { NAME_PATTERN, NAME_RULE } from "../kernel/ids.ts";
import { LABEL_PATTERN, LABEL_SCHEMA } from "./limits.ts";
import { parseUsd } from "../kernel/money.ts";

/**
 * The parts of the wire schemas: money, times, counts and names, each described once.
 *
 * Request bodies refuse unknown fields; responses may get more fields. A body's defaults are in the descriptions: many
 * client generators make a field with a `default` a required one. Each resource has its own file, so that a command
 * loads only the schemas that it needs.
 */

/** An agent, session or run id that the caller chooses. */
export const name = (example: string) =>
  z.string().regex(NAME_PATTERN, `must be ${NAME_RULE}`).openapi({ example });

/** A display name, stored unchanged. */
export const Label = z.string().regex(
  LABEL_PATTERN,
  "must be 1 to 200 characters, none of them a control character",
).openapi(LABEL_SCHEMA);

/** A display name that is not blank. */
export const DisplayName = z.string().refine(
  (text) => LABEL_PATTERN.test(text) && text.trim() !== "",
  "must be 1 to 200 characters, none of them a control character, and not blank",
).meta({ ...LABEL_SCHEMA });

/** An id that the service has generated. */
export const id = (example: string) => z.string().openapi({ example });

export const RunId = id("run_01k9qv3v5e8r6t2y4w7x9z1a3b");
export const SessionId = id("ses_01k9qv3v5d4f6h8j2m4p6r8t0v");
export const CallId = id("call_01k9qv3v6a5c7e9g1j3m5p7r9t");
export const AgentId = id("researcher");

export const Status = z.enum(AGENT_STATUSES);
export const Severity = z.enum(SEVERITIES);

/** ISO 8601 in UTC with milliseconds. */
export const Time = z.string().openapi({ format: "date-time", example: "2026-11-21T09:30:00.000Z" });

/** A time in a query, parsed to milliseconds. */
export const QueryTime = z.union([z.iso.datetime({ offset: true }), z.iso.date()]).transform((text) =>
  Date.parse(text)
).openapi({ type: "string", example: "2026-11-21" });

/** A count or a position: may exceed 32 bits. */
export const Count = z.number().int().nonnegative().openapi({ format: "int64" });
export const Position = z.number().int().openapi({ format: "int64" });

export const Usd = z.number().openapi({
  format: "decimal",
  description: "USD, at most nine decimals",
  example: 0.0042,
});
export const CostUsd = Usd.nullable().openapi({ description: "USD; null where no price is known" });
export const PlanUsd = Usd.openapi({
  description:
    "USD that the calls that a plan pays for would cost by the API; `cost_usd` leaves it out, since it is not billed. Absent where there is none",
});

/** The pace of spending towards a limit. */
export const pace = {
  usd_per_hour: Usd.nullable().openapi({
    description:
      "The present pace of spending: of the last ten minutes for an hour, of the last hour for a day; for longer " +
      "windows the faster one of the last hour and of yesterday and today; null per run and session, whose spending " +
      "has no pace",
  }),
  reaches_at: Time.nullable().openapi({
    description:
      "When the limit is reached at this pace; null where it is reached already, or the window ends before, or nothing " +
      "is spent",
  }),
};

/** USD with at most nine decimals, 0 or more: a limit is refused rather than rounded. */
export const UsdLimit = z.number().nonnegative().superRefine((value, ctx) => {
  try {
    parseUsd(value);
  } catch (error) {
    ctx.addIssue({ code: "custom", message: (error as Error).message });
  }
}).openapi({
  type: "number",
  format: "decimal",
  minimum: 0,
  maximum: 1e9,
  example: 0.25,
  description: "USD, at most nine decimals",
});

/** USD, more than 0, exact. */
export const UsdAboveZero = z.number().superRefine((value, ctx) => {
  try {
    if (parseUsd(value) <= 0n) ctx.addIssue({ code: "custom", message: "must be more than 0" });
  } catch (error) {
    ctx.addIssue({ code: "custom", message: (error as Error).message });
  }
}).meta({
  format: "decimal",
  // The smallest amount over 0, which the 3.0 form of the API's document can express, too.
  minimum: 1e-9,
  maximum: 1e9,
  description: "USD, at most nine decimals",
  examples: [10],
});

/** An object with any fields; the document lists those that it has today. */
export const facts = <Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
): z.ZodType<Record<string, unknown>> => z.looseObject(shape);

/**
 * A named schema or null. Not by `nullable()`: it makes the named schema itself nullable in the document, and generators
 * then name the type and its parts twice.
 */
export const orNull = <Schema extends z.ZodType>(schema: Schema): z.ZodUnion<[Schema, z.ZodNull]> =>
  z.union([schema, z.null()]);
