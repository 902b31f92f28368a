import { messageOf, systemCodeOf } from "./errors.ts";

/** What the system's codes mean; each runtime has words of its own, and some repeat the path. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a directory",
  ENOTDIR: "a part of the path is no directory",
  EACCES: "you may not",
  EPERM: "you may not",
  EROFS: "that disk can only be read",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk is full",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "its links lead round in circles",
  EMFILE: "too many files are open",
};

/** Why the system would not do something, in the same words on every runtime; what has no code tells of itself. */
export function systemReason(error: unknown): string {
  return REASONS[systemCodeOf(error) ?? ""] ?? messageOf(error);
}
