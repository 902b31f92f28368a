import { formatPath } from "../kernel/text.ts";

/** Something that is wrong with a value, and where; as a problem document tells it. */
export interface Issue {
  /** The place as people write it, such as `[1].tools[0]`; empty for the whole value. */
  path: string;
  message: string;
}

/** What a schema says is wrong. */
interface SchemaIssue {
  code?: string | undefined;
  path: readonly PropertyKey[];
  message: string;
  keys?: readonly PropertyKey[];
}

/** What a schema has refused, each with its path; a field that is not known is named by its own. */
export function toIssues(issues: readonly SchemaIssue[]): Issue[] {
  return issues.flatMap(({ code, path, message, keys = [] }) =>
    code === "unrecognized_keys"
      ? keys.map((key) => ({ path: formatPath([...path, key]), message: "is not known" }))
      : [{ path: formatPath(path), message }]
  );
}
