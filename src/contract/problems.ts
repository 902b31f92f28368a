import { z } from "@hono/zod-openapi";
import { type ErrorCode, STATUS } from "../kernel/errors.ts";
import { MAX_ISSUES, MAX_SNAPSHOT_ISSUES } from "./limits.ts";
import { RefusedBy } from "./budgets/budget_refusals.ts";
import { AgentId, CallId, CostUsd, Count, id, RunId, SessionId, Usd } from "./parts.ts";

/**
 * Problem documents: one schema per code, so that `code` determines the type of `details`. Only the OpenAPI document
 * uses them, so they are created with it.
 */

const CODES = Object.keys(STATUS) as [ErrorCode, ...ErrorCode[]];

const issue = once(() =>
  z.object({
    path: z.string().openapi({
      description: "Path of the field, such as `[1].tools[0]`; empty for the whole body",
      example: "cost_budget_usd",
    }),
    message: z.string().openapi({ example: "must be more than 0" }),
  }).openapi("Issue")
);

const anything = once(() => z.looseObject({}).optional());

/** The fields of `details` by code; others may be added. Codes that are not listed have no fixed fields. */
const DETAILS: Partial<Record<ErrorCode, () => z.ZodType>> = {
  invalid: () =>
    z.looseObject({
      issues: z.array(issue()).optional().openapi({
        description: `All issues, not only the first; at most ${MAX_ISSUES}`,
      }),
      issue_count: Count.optional().openapi({
        description:
          `Total number of issues, where not all are listed; a snapshot is read until the ${MAX_SNAPSHOT_ISSUES}th`,
      }),
    }).optional(),
  budget_exceeded: () =>
    z.looseObject({
      cost_usd_so_far: CostUsd.openapi({
        description:
          "Spent so far in the narrowest budget that refused, such as that of the run; null outside of a run for a key " +
          "of one agent where other agents count too",
      }),
      provider: z.string().optional().openapi({ description: "With `model`, where that has no known price" }),
      model: z.string().optional(),
      nearest_model: z.string().nullable().optional().openapi({
        description: "The nearest name with a price, as `provider:model`",
      }),
      budget_usd: Usd.openapi({ description: "The limit of that budget, with its raises" }),
      refused_by: z.array(RefusedBy).optional().openapi({
        description: "The budgets that refused, narrowest first; absent where the run's own is the only one",
      }),
    }),
  conflict: () =>
    z.looseObject({
      agent_id: AgentId.optional().openapi({ description: "The agent that owns it" }),
      session_id: SessionId.optional(),
      active_run_id: RunId.nullish().openapi({ description: "The run in progress there" }),
      call_id: CallId.optional().openapi({ description: "The call that was booked with other content" }),
      retry_after_seconds: Count.optional().openapi({
        description:
          "As in `Retry-After`, while the first request with the same `Idempotency-Key` is in progress",
      }),
    }).optional(),
  forbidden: () =>
    z.looseObject({
      scopes: z.array(z.string()).optional().openapi({
        description: "The scopes of which the API key needs one",
        example: ["admin"],
      }),
      agent_id: AgentId.optional().openapi({ description: "The only agent that the API key may access" }),
    }).optional(),
  internal: () =>
    z.looseObject({
      request_id: id("req_01k9qv3v7b6d8f0h2k4n6q8s0v").openapi({
        description: "Identifies the error in the server's log",
      }),
    }),
  rate_limited: () =>
    z.looseObject({
      limit: z.string().optional().openapi({
        description: "The limit that is reached, by the name of its setting",
        example: "runs_per_key",
      }),
      retry_after_seconds: Count.openapi({ description: "As in `Retry-After`" }),
    }),
  unavailable: () =>
    z.looseObject({
      limit: z.string().optional().openapi({ description: "The limit of the server that is reached" }),
      retry_after_seconds: Count.optional(),
    }).optional(),
  provider_error: () =>
    z.looseObject({
      provider_status: z.number().int().optional().openapi({ description: "The provider's HTTP status" }),
    }).optional(),
};

const shape = (code: z.ZodType, status: z.ZodType, details: z.ZodType) => ({
  type: z.string().openapi({ example: "about:blank" }),
  title: z.string().openapi({ description: "The code in words" }),
  status: status.openapi({ description: "The HTTP status" }),
  detail: z.string().openapi({
    description: "What failed, why, and the remedy; for people",
    example: "Cannot find agent researcher",
  }),
  instance: z.string().openapi({ description: "The path of the request", example: "/agents/researcher" }),
  code: code.openapi({ description: "Machine-readable code, of a closed list" }),
  details: details.openapi({ description: "Machine-readable facts" }),
  run_id: RunId.optional().openapi({ description: "The run that ended with this" }),
  session_id: SessionId.optional().openapi({ description: "That run's session" }),
});

/** A problem of any code, for streams, where no status determines it. */
export const anyProblem = once(() =>
  z.object(shape(z.enum(CODES), z.number().int(), anything())).openapi("Problem")
);

const PROBLEMS = Object.fromEntries(CODES.map((code) => [
  code,
  once(() => z.object(shape(z.literal(code), z.literal(STATUS[code]), DETAILS[code]?.() ?? anything()))),
])) as unknown as Record<ErrorCode, () => z.ZodType>;

/** Returns the schema of the problems of one code. */
export function problemOf(code: ErrorCode): z.ZodType {
  return PROBLEMS[code]();
}

/** Returns a function that creates its value on the first call. */
function once<Value>(make: () => Value): () => Value {
  let value: { made: Value } | undefined;
  return () => (value ??= { made: make() }).made;
}
