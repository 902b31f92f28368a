import type { ZodError } from "zod";
import { plainMessage } from "../../contract/issue_message.ts";
import { nearestName } from "../../kernel/nearest_name.ts";
import { formatPath } from "../../kernel/json/format_path.ts";

type Path = readonly PropertyKey[];

/**
 * Describes a schema issue for people, such as `port: is a text, must be a number`; one text for each fault, none
 * with a value. `keysKnownAt` returns the valid keys of the object at a path.
 */
export function describeIssue(
  issue: ZodError["issues"][number],
  keysKnownAt: (path: Path) => string[],
): string[] {
  const at = formatPath(issue.path) || "the whole file";
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => {
        const near = nearestName(key, keysKnownAt(issue.path));
        return `${formatPath([...issue.path, key])} is not a setting` +
          (near ? `; did you mean ${near}?` : "");
      });
    case "invalid_key":
      return issue.issues.map((inner) => `${at}: the name ${inner.message}`);
    case "invalid_type":
      return [`${at}: ${/received undefined$/.test(issue.message) ? "is missing" : plainMessage(issue)}`];
    default:
      return [`${at}: ${plainMessage(issue)}`];
  }
}
