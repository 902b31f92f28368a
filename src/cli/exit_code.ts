import { type ErrorCode, PurserError } from "../kernel/errors.ts";
import { UsageError } from "./parse/usage_error.ts";

/** What the process says to its caller. */
export const EXIT = {
  done: 0,
  failed: 1,
  badUsage: 2,
  notFound: 3,
  notAllowed: 4,
  budgetExceeded: 5,
  interrupted: 130,
} as const;

/**
 * `invalid` is a failure, not bad usage: the command line was understood, and the API refused what it asked
 * for. Bad usage is what the command line itself gets wrong, and is thrown as a `UsageError`.
 */
const EXIT_OF = {
  invalid: EXIT.failed,
  unauthorized: EXIT.notAllowed,
  budget_exceeded: EXIT.budgetExceeded,
  forbidden: EXIT.notAllowed,
  not_found: EXIT.notFound,
  method_not_allowed: EXIT.failed,
  conflict: EXIT.failed,
  precondition_failed: EXIT.failed,
  too_large: EXIT.failed,
  unsupported_media_type: EXIT.failed,
  idempotency_mismatch: EXIT.failed,
  rate_limited: EXIT.failed,
  internal: EXIT.failed,
  unsupported: EXIT.failed,
  provider_error: EXIT.failed,
  unavailable: EXIT.failed,
} satisfies Record<ErrorCode, number>;

/** The exit code for anything that was thrown. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.badUsage;
  return error instanceof PurserError ? EXIT_OF[error.code] : EXIT.failed;
}
