import type { ProviderRequest } from "./fake_provider.ts";

const ANTHROPIC_TYPES: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  529: "overloaded_error",
};

const GOOGLE_STATUSES: Record<number, string> = {
  400: "INVALID_ARGUMENT",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
};

const OPENAI_TYPES: Record<number, string> = {
  429: "rate_limit_exceeded",
  500: "server_error",
  503: "server_error",
};

/** The body of an HTTP error in that provider's format. */
export function errorBody(
  api: ProviderRequest["api"],
  status: number,
  message = `Refused with ${status}`,
): unknown {
  switch (api) {
    case "anthropic":
      return {
        type: "error",
        error: { type: ANTHROPIC_TYPES[status] ?? "api_error", message },
        request_id: "req_011CSHoEeqs5C35K2UUqR7Fy",
      };
    case "google":
      return { error: { code: status, message, status: GOOGLE_STATUSES[status] ?? "UNKNOWN" } };
    case "openai-chat":
    case "openai-responses":
      return {
        error: { message, type: OPENAI_TYPES[status] ?? "invalid_request_error", param: null, code: null },
      };
  }
}
