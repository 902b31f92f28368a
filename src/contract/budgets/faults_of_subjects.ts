import { MAX_BUDGET_TAGS } from "../limits.ts";
import { DIMENSIONS } from "../costs/dimensions.ts";
import type { BudgetPeriod } from "../values.ts";
import type { subjectFields } from "./subject_fields.ts";
import { isBilling, type SubjectFields, type SubjectKind, type SubjectPart, subjectsOf } from "./subjects.ts";

/* Without zod, as a process that reads rules to book a call needs no schema. */

/** The fields of what counts by subjects. */
type Counting = SubjectFields & { readonly each?: SubjectKind | null | undefined };
type Field = keyof typeof subjectFields | "each";

/** The field that names a value of a kind of subjects. */
const fieldOf = (kind: SubjectPart): Field =>
  kind === "tree"
    ? "session_id"
    : isBilling(kind)
    ? "billing"
    : kind.startsWith("model~")
    ? "model"
    : kind.startsWith("tag:")
    ? "tags"
    : kind === "source"
    ? kind
    : DIMENSIONS[kind as "agent"].field;

/** Returns what is wrong with the subjects of a budget or a rule, `what`, over a period. */
export function faultsOfSubjects(
  counting: Counting,
  per: BudgetPeriod,
  what: string,
): { path: string; message: string }[] {
  const { each } = counting;
  const faults: { path: string; message: string }[] = [];
  const refuse = (path: Field, message: string) => faults.push({ path, message });
  const named = subjectsOf(counting).map(([part]) => part);
  const tags = new Set([...named, each ?? ""].filter((part) => part.startsWith("tag:")));
  if (tags.size > MAX_BUDGET_TAGS) refuse("tags", `${what} can have at most ${MAX_BUDGET_TAGS} tags`);
  if (each != null && (per === "run" || per === "session" || per === "tree")) {
    refuse("each", `can't be together with per ${per}, which counts each ${per} by itself`);
  } else if (each != null && named.includes(each)) {
    refuse("each", `can't be ${each} together with ${fieldOf(each)}, which names one`);
  }
  const other = named.find((part) => part !== "agent") ?? (named.length > 1 ? named[1] : undefined);
  if (per === "run" && other !== undefined) {
    refuse(
      fieldOf(other),
      "can't be together with per run: the runs below a run may be of another session or API key, and call other models",
    );
  }
  return faults;
}
