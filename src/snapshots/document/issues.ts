import { PurserError } from "../../kernel/errors.ts";
import { formatPath } from "../../kernel/text.ts";

/** Something wrong with a document. */
export interface Issue {
  path: string;
  message: string;
}

/** So many are told one by one; of the others only the number. */
const MAX_TOLD = 100;
/** After so many, reading on tells nothing more. */
const MAX_COUNTED = 100_000;

/** What a schema says is wrong. */
interface SchemaIssue {
  code?: string;
  path: readonly PropertyKey[];
  message: string;
  note?: unknown;
  errors?: readonly (readonly SchemaIssue[])[];
  issues?: readonly SchemaIssue[];
}

/** Gathers everything that is wrong with a document. */
export class Issues {
  #told: Issue[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(path: readonly PropertyKey[] | string, message: string): void {
    this.#count++;
    if (this.#count >= MAX_COUNTED) this.throwIfAny();
    if (this.#told.length >= MAX_TOLD) return;
    this.#told.push({
      path: shorten(typeof path === "string" ? path : formatPath(path), 200),
      message: shorten(message, 400),
    });
  }

  /** Adds what a schema found, under the place of the value in the document. */
  addSchemaIssues(place: readonly PropertyKey[], issues: readonly SchemaIssue[]): void {
    for (const issue of issues) {
      for (const { path, message } of flatten(issue)) this.add([...place, ...path], message);
    }
  }

  /** Throws `invalid` with all of them, if there are any. */
  throwIfAny(): void {
    if (this.#count === 0) return;
    const { path, message } = this.#told[0]!;
    const more = this.#count - 1;
    throw new PurserError(
      "invalid",
      `Cannot read the snapshot: ${path ? `${path}: ` : ""}${message}${
        more > 0 ? ` (and ${more} more)` : ""
      }`,
      { details: { issues: this.#told, ...(this.#count > MAX_TOLD && { issue_count: this.#count }) } },
    );
  }
}

/** The issues of the alternative that was meant: the one that fits deepest. */
function flatten(issue: SchemaIssue): readonly SchemaIssue[] {
  if (issue.code === "invalid_key" && issue.issues?.[0]) {
    return [{ ...issue, message: issue.issues[0].message }];
  }
  if (issue.code !== "invalid_union" || !issue.errors?.length) return [issue];
  const [best] = [...issue.errors].sort((a, b) => depth(b) - depth(a));
  if (!best || depth(best) === 0) return [issue];
  return best.flatMap(flatten).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** How far into the value an alternative came. One whose kind did not even match came less far. */
function depth(issues: readonly SchemaIssue[]): number {
  return Math.min(...issues.map(({ path, note }) => path.length - (note === undefined ? 0 : 0.5)));
}

/** A problem must not be as large as the document, nor hold half a character of it. */
export function shorten(text: string, length: number): string {
  return (text.length > length ? `${text.slice(0, length)}…` : text).toWellFormed();
}
