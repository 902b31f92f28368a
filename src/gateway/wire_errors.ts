import { type ErrorCode, STATUS } from "../kernel/errors.ts";
import type { Family } from "./targets.ts";

/** The facts of an error that a client of a wire is shown: those of the API's problem documents. */
export interface WireProblem {
  code: ErrorCode;
  detail: string;
  details?: Record<string, unknown> | undefined;
}

const OPENAI_TYPES: Partial<Record<ErrorCode, string>> = {
  budget_exceeded: "budget_exceeded",
  unauthorized: "authentication_error",
  forbidden: "permission_error",
  rate_limited: "rate_limit_error",
  provider_error: "api_error",
  internal: "api_error",
  unavailable: "api_error",
};

const ANTHROPIC_TYPES: Partial<Record<ErrorCode, string>> = {
  budget_exceeded: "billing_error",
  unauthorized: "authentication_error",
  forbidden: "permission_error",
  not_found: "not_found_error",
  too_large: "request_too_large",
  rate_limited: "rate_limit_error",
  provider_error: "api_error",
  internal: "api_error",
  unavailable: "overloaded_error",
};

const GOOGLE_STATUSES: Partial<Record<ErrorCode, string>> = {
  budget_exceeded: "RESOURCE_EXHAUSTED",
  unauthorized: "UNAUTHENTICATED",
  forbidden: "PERMISSION_DENIED",
  not_found: "NOT_FOUND",
  unsupported: "UNIMPLEMENTED",
  rate_limited: "RESOURCE_EXHAUSTED",
  provider_error: "UNAVAILABLE",
  internal: "INTERNAL",
  unavailable: "UNAVAILABLE",
};

/** The pause before a request that was refused for a passing shortage is sent again, in seconds. */
const HELD_SECONDS = 2;

/**
 * Returns an error in the form of a wire. Whether to send the request again is said for each: the clients' SDKs would repeat
 * most statuses, and each repetition of a refusal costs them time.
 */
export function wireError(
  family: Family,
  { code, detail, details: all = {} }: WireProblem,
  requestId: string,
): { status: number; headers: Record<string, string>; body: Record<string, unknown> } {
  const { gateway_status: given, gateway_resend: resend, gateway_call: callId, ...shown } = all;
  const details = Object.keys(shown).length > 0 ? shown : undefined;
  const isHeld = code === "budget_exceeded" && isOnlyHeld(details);
  const status = typeof given === "number" ? given : STATUS[code];
  const isPassing = isHeld || code === "rate_limited" || code === "unavailable";
  const retryAfter = isHeld
    ? HELD_SECONDS
    : details?.retry_after_seconds ?? (isPassing ? HELD_SECONDS : undefined);
  const headers = {
    "content-type": "application/json",
    // Where a provider gave no answer, clients decide by the status, as they would without the gateway.
    ...((code !== "provider_error" || resend === false) && { "x-should-retry": String(isPassing) }),
    ...(typeof retryAfter === "number" && isPassing && { "retry-after": String(retryAfter) }),
    ...(status === STATUS.unauthorized && { "www-authenticate": "Bearer" }),
    ...(typeof callId === "string" && { "x-purser-call-id": callId }),
    // Anthropic's SDKs read the id of an error here, and nowhere else.
    ...(family === "anthropic" && { "request-id": requestId }),
  };
  return { status, headers, body: bodyOf(family, { code, detail, details, status, isHeld }, requestId) };
}

function bodyOf(
  family: Family,
  { code, detail, details, status, isHeld }: WireProblem & { status: number; isHeld: boolean },
  requestId: string,
): Record<string, unknown> {
  switch (family) {
    case "openai":
      return {
        error: {
          message: detail,
          type: OPENAI_TYPES[code] ?? "invalid_request_error",
          param: null,
          code: isHeld ? "budget_in_flight" : code,
          ...(details && { details }),
        },
      };
    case "anthropic":
      return {
        type: "error",
        error: {
          type: ANTHROPIC_TYPES[code] ?? "invalid_request_error",
          message: detail,
          ...(details && { details }),
        },
        request_id: requestId,
      };
    case "google":
      return {
        error: {
          code: status,
          message: detail,
          status: GOOGLE_STATUSES[code] ?? "INVALID_ARGUMENT",
          ...(details && { details: [{ "@type": "purser/problem", ...details }] }),
        },
      };
  }
}

/** Returns whether all budgets that refuse a call have room again once other calls have ended. */
function isOnlyHeld(details: Record<string, unknown> | undefined): boolean {
  const refusedBy = details?.refused_by;
  return Array.isArray(refusedBy) && refusedBy.length > 0 &&
    refusedBy.every((each) => (each as { reason?: unknown })?.reason === "held");
}
