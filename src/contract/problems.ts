import { z } from "@hono/zod-openapi";
import { type ErrorCode, STATUS } from "../kernel/errors.ts";
import { AgentId, CallId, Count, id, RunId, SessionId, Usd } from "./parts.ts";

/**
 * Problem documents: one for each code, so that who reads `code` knows what `details` holds. Only the OpenAPI document
 * reads them, so they are made when it is.
 */

const CODES = Object.keys(STATUS) as [ErrorCode, ...ErrorCode[]];

const issue = once(() =>
  z.object({
    path: z.string().openapi({
      description: "Where, as in `[1].tools[0]`; empty for the whole body",
      example: "cost_budget_usd",
    }),
    message: z.string().openapi({ example: "must be more than 0" }),
  }).openapi("Issue")
);

const anything = once(() => z.looseObject({}).optional());

/** What `details` holds, by code; more may stand beside it. Where a code is not named, it may hold anything. */
const DETAILS: Partial<Record<ErrorCode, () => z.ZodType>> = {
  invalid: () =>
    z.looseObject({
      issues: z.array(issue()).optional().openapi({
        description: "Everything that is wrong, not the first alone",
      }),
      issue_count: Count.optional().openapi({ description: "How many there are, where not all are told" }),
    }).optional(),
  budget_exceeded: () =>
    z.looseObject({
      cost_usd_so_far: Usd.openapi({ description: "What the run has cost, in USD" }),
      budget_usd: Usd.openapi({ description: "What it may cost, in USD" }),
    }),
  conflict: () =>
    z.looseObject({
      agent_id: AgentId.optional().openapi({ description: "Whose it is" }),
      session_id: SessionId.optional(),
      active_run_id: RunId.nullish().openapi({ description: "The run that is in progress there" }),
      call_id: CallId.optional().openapi({ description: "The call that was booked otherwise" }),
    }).optional(),
  forbidden: () =>
    z.looseObject({
      scopes: z.array(z.string()).optional().openapi({
        description: "The scopes of which the API key has none",
        example: ["admin"],
      }),
      agent_id: AgentId.optional().openapi({ description: "The only agent that the API key reaches" }),
    }).optional(),
  internal: () =>
    z.looseObject({
      request_id: id("req_01k9qv3v7b6d8f0h2k4n6q8s0v").openapi({
        description: "What the server's log has it under",
      }),
    }),
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
    description: "What could not be done, why, and what to do; for people",
    example: "Cannot find agent researcher",
  }),
  instance: z.string().openapi({ description: "The path of the request", example: "/agents/researcher" }),
  code: code.openapi({ description: "The code for programs, of a closed list" }),
  details: details.openapi({ description: "Facts for programs" }),
  run_id: RunId.optional().openapi({ description: "The run that ended with this" }),
  session_id: SessionId.optional().openapi({ description: "That run's session" }),
});

/** Any problem, where no status tells which. */
export const anyProblem = once(() =>
  z.object(shape(z.enum(CODES), z.number().int(), anything())).openapi("Problem")
);

const PROBLEMS = Object.fromEntries(CODES.map((code) => [
  code,
  once(() =>
    z.object(shape(z.literal(code), z.literal(STATUS[code]), DETAILS[code]?.() ?? anything()))
      .openapi(`${pascalCase(code)}Problem`)
  ),
])) as unknown as Record<ErrorCode, () => z.ZodType>;

/** The problem of one code, such as `NotFoundProblem`. */
export function problemOf(code: ErrorCode): z.ZodType {
  return PROBLEMS[code]();
}

/** Makes something when it is first asked for. */
function once<Value>(make: () => Value): () => Value {
  let value: { made: Value } | undefined;
  return () => (value ??= { made: make() }).made;
}

function pascalCase(code: ErrorCode): string {
  return code.split("_").map((word) => word[0]!.toUpperCase() + word.slice(1)).join("");
}
