import { messageOf } from "./errors.ts";

/** Returns the code of a system error, such as `ENOENT`; undefined for any other error. */
export function systemCodeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

/** Returns whether a system error means that the disk is full. */
export function isDiskFull(error: unknown): boolean {
  return systemCodeOf(error) === "ENOSPC";
}

/** The text of each system error code, as in strerror(3): runtimes word it differently, and some repeat the path. */
const SYSTEM_REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EEXIST: "file exists",
  EISDIR: "is a directory",
  ENOTDIR: "not a directory",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EROFS: "read-only file system",
  ENOSPC: "no space left on device",
  EDQUOT: "disk quota exceeded",
  ENAMETOOLONG: "file name too long",
  ELOOP: "too many levels of symbolic links",
  EMFILE: "too many open files",
};

/** Returns the reason of a system error in the same words on every runtime; the message of any other error. */
export function systemReason(error: unknown): string {
  return SYSTEM_REASONS[systemCodeOf(error) ?? ""] ?? messageOf(error);
}

/**
 * Returns the message of the innermost cause of an error, which alone says why on some runtimes; of the attempts to reach the
 * addresses of a host, the last one's. Where none has a message, its code.
 */
export function rootReasonOf(error: unknown, outer = ""): string {
  const reason = messageOf(error) || (systemCodeOf(error) ?? outer);
  const inner = error instanceof AggregateError ? error.errors.at(-1) : (error as { cause?: unknown })?.cause;
  return inner instanceof Error ? rootReasonOf(inner, reason) : reason;
}
