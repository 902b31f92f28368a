import { type ErrorCode, PurserError } from "../kernel/errors.ts";
import { UsageError } from "./parse/usage_error.ts";

/** The exit codes of the process. */
export const EXIT = {
  done: 0,
  failed: 1,
  badUsage: 2,
  notFound: 3,
  notAllowed: 4,
  budgetExceeded: 5,
  /** A dry run would change something. */
  wouldChange: 6,
  interrupted: 130,
} as const;

/**
 * The exit code of each error code. `invalid` is a failure: the API refused a valid command line. An invalid command line
 * is a `UsageError`.
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

/** Returns the exit code for a thrown value. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.badUsage;
  return error instanceof PurserError ? EXIT_OF[error.code] : EXIT.failed;
}
