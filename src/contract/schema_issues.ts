import { PurserError } from "../kernel/errors.ts";
import { plainMessage, type SchemaIssue } from "./issue_message.ts";
import { MAX_ISSUES } from "./limits.ts";
import { formatPath } from "../kernel/json/format_path.ts";
import { shorten } from "../kernel/text.ts";

/** A fault of a value, with its path, as in a problem document. */
export interface Issue {
  /** The path of the field, such as `[1].tools[0]`; empty for the whole value. */
  path: string;
  message: string;
}

/** Returns a schema's issues, each with its path; an unknown field has an issue with its own path. */
export function toIssues(issues: readonly SchemaIssue[]): Issue[] {
  return issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? (issue.keys ?? []).map((key) => ({ path: formatPath([...issue.path, key]), message: "is not known" }))
      : [{ path: formatPath(issue.path), message: plainMessage(issue) }]
  );
}

/** Returns the error for a value that a schema refused: its message has the first issue, its details have the first hundred. */
export function invalidInput(error: { issues: readonly SchemaIssue[] }, what: string): PurserError {
  const count = error.issues.reduce((sum, { keys }) => sum + (keys?.length ?? 1), 0);
  const issues = toIssues(firstOf(error.issues));
  const first = issues[0]!;
  return new PurserError(
    "invalid",
    `Cannot read ${what}: ${first.path ? `${shorten(first.path, 200)}: ` : ""}${first.message}` +
      (count > 1 ? ` (and ${count - 1} more)` : ""),
    { details: { issues, ...(count > issues.length && { issue_count: count }) } },
  );
}

/** Returns the first `MAX_ISSUES`: a body may have as many faults as it has bytes. */
function firstOf(issues: readonly SchemaIssue[]): SchemaIssue[] {
  const first: SchemaIssue[] = [];
  for (let left = MAX_ISSUES, i = 0; left > 0 && i < issues.length; i++) {
    const { keys, ...issue } = issues[i]!;
    first.push(keys ? { ...issue, keys: keys.slice(0, left) } : issue);
    left -= keys?.length ?? 1;
  }
  return first;
}
