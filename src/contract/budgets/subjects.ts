import {
  BUDGETED,
  dimension,
  DIMENSIONS,
  type DimensionWith,
  type FieldOf,
  NAMED,
  type NameFields,
  nameOfValue,
  type WithFields,
} from "../costs/dimensions.ts";
import type { TagGroup, Tags } from "../tags/tags.ts";
import type { Billing, BudgetPeriod, CallSource } from "../values.ts";

/* The subjects of budgets: whose calls they count. Without zod, as the dashboard and commands read them too. */

/** The kinds of subjects that have a field of their own, and `each` of which a budget can count; the others are tags. */
export const SUBJECTS = [...BUDGETED, "model", "provider", "source"] as const;

/** A kind of subjects, or `tag:KEY`. */
export type SubjectKind = DimensionWith<"isBudgeted"> | "model" | "provider" | "source" | TagGroup;

/**
 * A part of a call that a budget looks at: a kind of subjects, `model~PATTERN`, its tree, or who pays for it. What is of a `plan` is its
 * value by the API, and what is `billed` its cost.
 */
export type SubjectPart = SubjectKind | `model~${string}` | "tree" | Billing;

/** A part of a call, and the value that a budget names; a pattern of models and who pays have none. */
export type Subject = readonly [part: SubjectPart, value: string | null];

/** The fields of a budget that name its subjects. */
export interface SubjectFields extends WithFields {
  readonly tags?: Tags | null | undefined;
  readonly source?: string | null | undefined;
  readonly billing?: Billing | null | undefined;
  /** Of a budget per tree, the session that it names is the root of one. */
  readonly per?: BudgetPeriod | undefined;
}

const fieldOf = (kind: typeof SUBJECTS[number]) =>
  kind === "source" ? kind : dimension(kind).field as keyof WithFields;

/** A name of a model is matched as a pattern if it has a star, or a provider before a colon. */
const isPattern = (model: string) => /[*:]/.test(model);

/** Returns the subjects of a budget: a call that it counts is of all of them. */
export function subjectsOf(budget: SubjectFields): Subject[] {
  return [
    ...(budget.billing ? [[budget.billing, null] as const] : []),
    ...SUBJECTS.flatMap((kind): Subject[] => {
      const value = budget[fieldOf(kind)];
      if (value == null) return [];
      if (kind === "model" && isPattern(value)) return [[`model~${value}`, null]];
      return [[kind === "session" && budget.per === "tree" ? "tree" : kind, value]];
    }),
    ...Object.entries(budget.tags ?? {}).map(([key, value]): Subject => [`tag:${key}`, value]),
  ];
}

/** Returns the fields of a budget of some subjects; null where it names none. */
export function fieldsOf(subjects: readonly Subject[]) {
  const values = new Map<string, string | null>(
    subjects.map((subject) => [subject[0].split("~")[0]!, describeSubject(subject).id]),
  );
  const tags = subjects.flatMap(([part, value]) => part.startsWith("tag:") ? [[part.slice(4), value!]] : []);
  const valueOf = (kind: string) =>
    values.get(kind) ?? (kind === "session" ? values.get("tree") : null) ?? null;
  const named = SUBJECTS.map((kind) => [fieldOf(kind), valueOf(kind)]);
  return {
    ...Object.fromEntries(named) as
      & Record<FieldOf<DimensionWith<"isBudgeted"> | "model" | "provider">, string | null>
      & { source: CallSource | null },
    billing: subjects.map(([part]) => part).find(isBilling) ?? null,
    tags: tags.length === 0 ? null : Object.fromEntries(tags) as Tags,
  };
}

/** Returns whether a part of a call is who pays for it. */
export const isBilling = (part: string): part is Billing => part === "plan" || part === "billed";

/** Returns the kind of a subject, and its value: the pattern of a pattern. */
export function describeSubject(
  [part, value]: Subject,
): { kind: SubjectKind | "tree" | "billing"; id: string } {
  if (isBilling(part)) return { kind: "billing", id: part };
  return part.startsWith("model~")
    ? { kind: "model", id: part.slice("model~".length) }
    : { kind: part as SubjectKind | "tree", id: value! };
}

/** Returns the text of a subject: `key laptop (anna)`, `tag customer=acme`. `names` has the names of keys. */
export function subjectText(subject: Subject, names: NameFields = {}): string {
  const { kind, id } = describeSubject(subject);
  if (kind === "billing") return id === "plan" ? "plan value" : "billed calls";
  return kind.startsWith("tag:")
    ? `tag ${kind.slice(4)}=${id}`
    : `${kind} ${nameOfValue({ kind, id }, names)}`;
}

/** Returns the text of one of the counters of a budget: `key laptop (anna)`, `tag user=anna`. */
export function counterText({ kind, id }: { kind: string; id: string }, names: NameFields): string {
  return kind === "calls" ? id : subjectText([kind as SubjectPart, id], names);
}

/** Returns the texts of the subjects of a budget, with the names of those that have one. */
export const subjectTexts = (budget: SubjectFields): string[] =>
  subjectsOf(budget).map((subject) => subjectText(subject, budget));

/** Returns the model and the provider of a call by their names, of which that of the model may have both: `anthropic:claude-opus-5`. */
export function modelOfCall(
  { model, provider }: { model?: string | undefined; provider?: string | undefined },
): { model: string | undefined; provider: string | undefined } {
  const [prefix, name] = model === undefined ? [] : splitAtColon(model);
  return name === undefined || (provider ?? prefix) !== prefix
    ? { model, provider }
    : { model: name, provider: prefix };
}

function splitAtColon(text: string): [string, string?] {
  const colon = text.indexOf(":");
  return colon <= 0 ? [text] : [text.slice(0, colon), text.slice(colon + 1)];
}

/** Names the calls that a limit counts, of those that a call would meet: `all agents`, `key laptop (anna)`. */
export function describeScope({ scope, ...names }: { scope: string } & NameFields): string {
  if (scope === "all") return "all agents";
  const kind = NAMED.find((name) => names[DIMENSIONS[name].nameField]);
  return kind === undefined ? scope : scope.replace(
    new RegExp(`\\b${kind} [^ ,]+`),
    () => `${kind} ${nameOfValue({ kind, id: "" }, names)}`,
  );
}
