/**
 * Every public error code with its HTTP status (RFC 9457 problem documents). REST, the CLI's exit codes and the typed
 * client are derived from this table.
 */
export const STATUS = {
  invalid: 400,
  unauthorized: 401,
  budget_exceeded: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  too_large: 413,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
  rate_limited: 429,
  internal: 500,
  unsupported: 501,
  provider_error: 502,
  unavailable: 503,
} as const;

/** A public error code. */
export type ErrorCode = keyof typeof STATUS;

/** The facts of an error, in wire form (`snake_case`, money in USD). */
export type ErrorDetails = Record<string, unknown>;

/** An error with a public code, a message for the user, and facts. */
export class PurserError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails | undefined;
  /** Extension members of the problem document, such as `run_id`. */
  readonly extensions: ErrorDetails = {};

  constructor(code: ErrorCode, message: string, options: { details?: ErrorDetails; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "PurserError";
    this.code = code;
    this.details = options.details;
  }

  /**
   * Returns a copy with more members for its problem document. A copy, since one failure of the database is the error of
   * several callers.
   */
  with(extensions: ErrorDetails): this {
    const copy = Object.create(Object.getPrototypeOf(this), Object.getOwnPropertyDescriptors(this));
    copy.extensions = { ...this.extensions, ...extensions };
    return copy;
  }
}

/** Returns the error of a field that is not valid, whose path and fault are its one issue. */
export function invalidField(
  path: string,
  fault: string,
  message = `Cannot use ${path}: ${fault}`,
): PurserError {
  return new PurserError("invalid", message, { details: { issues: [{ path, message: fault }] } });
}

interface BudgetAmounts {
  /** On the wire null for a key of one agent outside of a run, where the spending is that of other agents too. */
  cost_usd_so_far: number;
  budget_usd: number;
}

/** The parts of a refusal that the log of its session has. */
export interface LoggedRefusal {
  message: string;
  details: ErrorDetails;
  /** Further facts for the log, such as the model. */
  facts?: ErrorDetails;
  /** All amounts, and the API key, for readers of all agents. */
  withheld?: ErrorDetails;
}

/** Thrown before the next model call of a run whose budget does not allow it. Money is in USD. */
export class BudgetExceededError extends PurserError {
  declare details: BudgetAmounts & ErrorDetails;
  /** The error for the log of its session, which may be read by others than the caller: with fewer amounts. */
  declare readonly logged: LoggedRefusal;

  constructor(
    message: string,
    details: BudgetAmounts & ErrorDetails,
    logged: LoggedRefusal = { message, details },
  ) {
    super("budget_exceeded", message, { details });
    this.name = "BudgetExceededError";
    Object.defineProperty(this, "logged", { value: logged }); // not enumerable: printed errors don't have it
  }
}

/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
