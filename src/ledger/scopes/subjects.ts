import { isBilling, type Subject, type SubjectPart } from "../../contract/budgets/subjects.ts";
import { type Dimension, DIMENSIONS } from "../../contract/costs/dimensions.ts";
import { MAX_BUDGET_TAGS } from "../../contract/limits.ts";
import { tagKeyOf } from "../../contract/tags/tags.ts";
import { matchesPattern } from "../../store/mod.ts";

/*
 * Scopes of several subjects, and of those that have no counters of their own: tags, models, providers, sources and trees. Their text is
 * `by SHAPE VALUE …`: the shape is the sorted list of the parts of a call that it looks at, and then comes the value of each.
 * So `by tag:customer acme` are the calls with that tag, `by tree ses_1` those of a session and all its sub-agents, and `by key,model~claude-* key_1` the calls of a key with the models
 * of a pattern, which is a part of its shape and has no value. Counters of a shape exist while a budget has it: see
 * spend_shapes.ts.
 */

/** The first word of such scopes. */
export const BY = "by";

const PARTS = ["agent", "session", "key", "tree", "model", "provider", "source"] as const;
const ORDER: readonly string[] = PARTS;
const PATTERN = "model~";

/** Who pays comes first, so that a scope of plan values is known by its beginning. */
const rankOf = (part: string) =>
  isBilling(part) ? -0.5 : part.startsWith(PATTERN) ? ORDER.indexOf("model") + 0.5 : ORDER.indexOf(part);

/** Tags come last, by their keys. */
function compareParts(a: string, b: string): number {
  const [first, second] = [rankOf(a), rankOf(b)].map((rank) => rank === -1 ? ORDER.length : rank) as [
    number,
    number,
  ];
  return first - second || (a < b ? -1 : a > b ? 1 : 0);
}

const encode = (value: string) => value.replaceAll("%", "%25").replaceAll(" ", "%20");
const decode = (value: string) => value.replaceAll("%20", " ").replaceAll("%25", "%");

/** Returns the shape of some parts. */
export const shapeOf = (parts: readonly string[]): string => [...parts].sort(compareParts).join(",");

/** Returns the parts of a shape. */
export const partsOf = (shape: string): SubjectPart[] => shape.split(",") as SubjectPart[];

const hasValue = (part: string) => !part.startsWith(PATTERN) && !isBilling(part);

/** Returns the scope of the calls that are of all these subjects. */
export function scopeBy(subjects: readonly Subject[]): string {
  const sorted = [...subjects].sort(([a], [b]) => compareParts(a, b));
  const values = sorted.flatMap(([part, value]) => hasValue(part) ? [encode(value!)] : []);
  return [BY, shapeOf(sorted.map(([part]) => part)), ...values].join(" ");
}

/** Returns whether a scope is one of several subjects, or of one without counters of its own. */
export const isScopeBy = (scope: string): boolean => scope.startsWith(`${BY} `);

/** Returns the subjects of such a scope. */
export function subjectsIn(scope: string): Subject[] {
  const [, shape, ...values] = scope.split(" ");
  return partsOf(shape!).map((part) => [part, hasValue(part) ? decode(values.shift()!) : null]);
}

/** Returns the shape of such a scope. */
export const shapeIn = (scope: string): string => scope.split(" ")[1]!;

/** The scopes of a shape that have certain values in all parts but one: those from a text on and before another, with an end. */
export interface ScopeRange {
  from: string;
  before: string;
  end: string;
}

/** Returns the range of the scopes of a shape whose values are these subjects', in every part but one. */
export function rangeOf(shape: string, subjects: readonly Subject[], open: string): ScopeRange {
  const values = new Map<string, string | null>(subjects);
  const parts = partsOf(shape).filter(hasValue);
  const index = parts.indexOf(open as SubjectPart);
  const textOf = (part: string) => encode(values.get(part)!);
  const from = [BY, shape, ...parts.slice(0, index).map(textOf)].join(" ");
  return {
    from: `${from} `,
    before: `${from}!`,
    end: parts.slice(index + 1).map((part) => ` ${textOf(part)}`).join(""),
  };
}

/** Returns the subject of a scope that a budget has a counter for each of. */
export function valueIn(scope: string, part: string): string {
  return subjectsIn(scope).find(([other]) => other === part)?.[1] ?? scope;
}

/** A row of `spend_shapes`: the parts of a call that a shape looks at. */
export function shapeRow(shape: string): (string | number | null)[] {
  const parts = partsOf(shape);
  const tags = parts.flatMap((part) => tagKeyOf(part) ?? []);
  const pattern = parts.find((part) => part.startsWith(PATTERN));
  return [
    shape,
    ...ORDER.map((part) => Number(parts.includes(part as SubjectPart))),
    pattern === undefined ? null : pattern.slice(PATTERN.length),
    parts.find(isBilling) ?? null,
    ...Array.from({ length: MAX_BUDGET_TAGS }, (_, index) => tags[index] ?? null),
  ];
}

/** Its columns. */
export const SHAPE_COLUMNS: readonly string[] = [
  "shape",
  ...ORDER.map((part) => `has_${part}`),
  "pattern",
  "billing",
  ...Array.from({ length: MAX_BUDGET_TAGS }, (_, index) => `tag_${index + 1}`),
];

/** SQL for the parts of a call that shapes look at; `tags`: JSON. `isOf`: whether it is billed, or of a plan, by SQL for which is asked. */
export type SubjectSql =
  & Record<typeof PARTS[number] | "tags", string>
  & { isOf: (billing: string) => string };

/** Returns SQL for each part, by its name and those of its column and its property; the tags and who pays are no such parts. */
export const partsBy = (sqlOf: (names: { part: string; field: string; property: string }) => string) =>
  Object.fromEntries(PARTS.map((part) => {
    const names = part in DIMENSIONS ? DIMENSIONS[part as Dimension] : { field: part, property: part };
    return [part, sqlOf({ ...names, part })];
  })) as Record<typeof PARTS[number], string>;

/** SQL for the parts of an entry of `calls`, but for its tags. */
export const callPartsOf = (entry: string): Omit<SubjectSql, "tags"> => ({
  ...partsBy(({ field }) => `${entry}.${field}`),
  tree: `coalesce(${entry}.root_session_id, ${entry}.session_id)`,
  // An entry that takes back what was billed and adds a plan value is of both.
  isOf: (billing) =>
    `CASE ${billing} WHEN 'plan' THEN ${entry}.plan_nano_usd IS NOT NULL ELSE ${entry}.plan_nano_usd IS NULL OR ${entry}.cost_nano_usd <> 0 END`,
});

/** SQL for what an entry adds to the counters of a shape `s`. */
export const shapedAmountOf = (entry: string): string =>
  `CASE WHEN s.billing = 'plan' THEN ${entry}.plan_nano_usd ELSE ${entry}.cost_nano_usd END`;

/** SQL for what an entry adds to a scope of subjects: its plan value, or its cost. */
export const amountIn = (scope: string, entry: string): string =>
  `CASE WHEN ${isOfPlan(scope)} THEN ${entry}.plan_nano_usd ELSE ${entry}.cost_nano_usd END`;

/** SQL for whether a scope is one of plan values: no other part begins like that. */
export const isOfPlan = (scope: string): string => `substr(${scope}, 1, 7) = '${BY} plan'`;

/** SQL for the scope of a call by a shape `s`, a row of `spend_shapes`; NULL for a call that it doesn't count. */
export function shapedScopeOf(call: SubjectSql): string {
  const add = (condition: string, value: string) =>
    `CASE WHEN ${condition} THEN ' ' || replace(replace(${value}, '%', '%25'), ' ', '%20') ELSE '' END`;
  const values = [
    ...ORDER.map((part) => add(`s.has_${part} = 1`, call[part as Exclude<keyof SubjectSql, "isOf">])),
    ...Array.from({ length: MAX_BUDGET_TAGS }, (_, index) => {
      const column = `s.tag_${index + 1}`;
      return add(`${column} IS NOT NULL`, `(${call.tags} ->> ${column})`);
    }),
  ];
  const isOfModel = `s.pattern IS NULL OR ${matchesPattern(call.model, "s.pattern")} OR ${
    matchesPattern(`${call.provider} || ':' || ${call.model}`, "s.pattern")
  }`;
  return `CASE WHEN (${isOfModel}) AND (s.billing IS NULL OR ${
    call.isOf("s.billing")
  }) THEN '${BY} ' || s.shape || ${values.join(" || ")} END`;
}
