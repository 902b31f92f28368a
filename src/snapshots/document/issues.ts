import { plainMessage, type SchemaIssue as PlainIssue } from "../../contract/issue_message.ts";
import type { Issue } from "../../contract/schema_issues.ts";
import { MAX_ISSUES, MAX_SNAPSHOT_ISSUES } from "../../contract/limits.ts";
import { PurserError } from "../../kernel/errors.ts";
import { formatPath } from "../../kernel/json/format_path.ts";
import { shorten } from "../../kernel/text.ts";

/** An issue of zod, with those of its alternatives. */
interface SchemaIssue extends PlainIssue {
  note?: unknown;
  errors?: readonly (readonly SchemaIssue[])[];
  issues?: readonly SchemaIssue[];
}

/** Collects the issues of a document. */
export class Issues {
  #reported: Issue[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(path: readonly PropertyKey[] | string, message: string): void {
    this.#count++;
    if (this.#count >= MAX_SNAPSHOT_ISSUES) this.throwIfAny();
    if (this.#reported.length >= MAX_ISSUES) return;
    this.#reported.push({
      path: shorten(typeof path === "string" ? path : formatPath(path), 200),
      message: shorten(message, 400),
    });
  }

  /** Adds a schema's issues with the path of the value in the document. */
  addSchemaIssues(base: readonly PropertyKey[], issues: readonly SchemaIssue[]): void {
    for (const issue of issues) {
      for (const each of flatten(issue)) this.add([...base, ...each.path], plainMessage(each));
    }
  }

  /** Throws `invalid` with all issues, if there are any. */
  throwIfAny(): void {
    if (this.#count === 0) return;
    const { path, message } = this.#reported[0]!;
    const more = this.#count - 1;
    throw new PurserError(
      "invalid",
      `Cannot read the snapshot: ${path ? `${path}: ` : ""}${message}${
        more > 0 ? ` (and ${this.#count < MAX_SNAPSHOT_ISSUES ? "" : "at least "}${more} more)` : ""
      }`,
      {
        details: { issues: this.#reported, ...(this.#count > MAX_ISSUES && { issue_count: this.#count }) },
      },
    );
  }
}

/** Returns the issues of the alternative that was probably meant: the one that matches deepest. */
function flatten(issue: SchemaIssue): readonly SchemaIssue[] {
  if (issue.code === "invalid_key" && issue.issues?.[0]) {
    return [{ ...issue, message: issue.issues[0].message }];
  }
  if (issue.code !== "invalid_union" || !issue.errors?.length) return [issue];
  const [best] = [...issue.errors].sort((a, b) => depth(b) - depth(a));
  if (!best || depth(best) === 0) return [issue];
  return best.flatMap(flatten).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** Returns how deep an alternative matched; less where not even its discriminator did. */
function depth(issues: readonly SchemaIssue[]): number {
  return Math.min(...issues.map(({ path, note }) => path.length - (note === undefined ? 0 : 0.5)));
}
