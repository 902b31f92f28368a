import { PurserError } from "../kernel/errors.ts";
import { formatPath } from "../kernel/text.ts";

/** Something that is wrong with a value, and where, as in a problem document. */
export interface Issue {
  /** The path of the field, such as `[1].tools[0]`; empty for the whole value. */
  path: string;
  message: string;
}

/** An issue as zod has it. */
interface SchemaIssue {
  code?: string | undefined;
  path: readonly PropertyKey[];
  message: string;
  keys?: readonly PropertyKey[];
}

/** Returns a schema's issues, each with its path; a field that is not known is an issue of its own path. */
export function toIssues(issues: readonly SchemaIssue[]): Issue[] {
  return issues.flatMap(({ code, path, message, keys = [] }) =>
    code === "unrecognized_keys"
      ? keys.map((key) => ({ path: formatPath([...path, key]), message: "is not known" }))
      : [{ path: formatPath(path), message }]
  );
}

/** Returns the error for a value that a schema refused: its message has the first issue, its details have all. */
export function invalidInput(error: { issues: readonly SchemaIssue[] }, what: string): PurserError {
  const issues = toIssues(error.issues);
  const first = issues[0]!;
  return new PurserError(
    "invalid",
    `Cannot read ${what}: ${first.path ? `${first.path}: ` : ""}${first.message}` +
      (issues.length > 1 ? ` (and ${issues.length - 1} more)` : ""),
    { details: { issues } },
  );
}
