import { PurserError } from "../kernel/errors.ts";

/**
 * The kind of a failure as `error.type` tells it: Purser's code, a provider's status, or the name of an error. Never its
 * message.
 */
export function errorTypeOf(error: unknown): string {
  if (error instanceof PurserError) return error.code;
  const { lastError, statusCode, name } = (error ?? {}) as Record<string, unknown>;
  if (lastError !== undefined) return errorTypeOf(lastError);
  if (typeof statusCode === "number") return String(statusCode);
  return typeof name === "string" && /^\w{1,64}$/.test(name) ? name : "_OTHER";
}
