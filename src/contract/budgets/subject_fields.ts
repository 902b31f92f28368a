import { z } from "@hono/zod-openapi";
import { MAX_BUDGET_TAGS } from "../limits.ts";
import { namedFields, namedValues } from "../costs/dimension_fields.ts";
import { DIMENSIONS } from "../costs/dimensions.ts";
import { Tags } from "../tags/tag_schemas.ts";
import { TAG_LIMITS } from "../tags/tags.ts";
import { BILLINGS, BUDGET_EACH, type BudgetPeriod, CALL_SOURCES, SIGHTING_SOURCES } from "../values.ts";
import { isBilling, type SubjectFields, type SubjectKind, type SubjectPart, subjectsOf } from "./subjects.ts";

/* The wire schemas of the fields by which budgets and alert rules name the calls that they count. */

export const EACH =
  "One counter for each agent, session, API key, model, provider or source, or with `tag:KEY` for each value of a tag; null " +
  "for one counter of all";

export const Each = z.string().regex(
  new RegExp(`^(?:${BUDGET_EACH.join("|")}|tag:${TAG_LIMITS.key})$`),
  `must be one of ${BUDGET_EACH.join(", ")}, or tag: and the key of a tag`,
) as unknown as z.ZodType<SubjectKind, SubjectKind>;

const MODEL =
  "Counts only calls of this model, or of the models that a pattern such as `claude-opus-*` matches; with its " +
  "provider before a colon, of that provider";
const Model = z.string().regex(
  /^[A-Za-z0-9*][A-Za-z0-9._:/@+*-]{0,199}$/,
  "must be the name of a model, or a pattern whose stars stand for any characters",
);
const PROVIDER = "Counts only calls of this provider";
const SOURCE = "Counts only calls of this source, such as those of the gateway";
const BILLING =
  "`plan`: counts what the calls that a plan pays for, such as a subscription, would cost by the API; `billed`: only the cost of " +
  "calls that are billed, and lets those of a plan pass; null: the cost of all, which is 0 for those of a plan";
const TAGS = "Counts only calls that have all of these tags";

/** The fields that name subjects, as an author sends them. */
export const subjectFields = {
  ...namedFields,
  tags: Tags.nullish().openapi({
    type: ["object", "null"],
    description: `${TAGS}; at most ${MAX_BUDGET_TAGS}`,
  }),
  model: Model.nullish().openapi({ description: MODEL, example: "claude-opus-*" }),
  provider: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, "must be the name of a provider").nullish()
    .openapi({ description: PROVIDER, example: "anthropic" }),
  source: z.enum(CALL_SOURCES).nullish().openapi({ description: SOURCE, example: "gateway" }),
  billing: z.enum(BILLINGS).nullish().openapi({ description: BILLING, example: "plan" }),
};

/** The subjects of one call that is about to be made, besides its agent, session and key. */
export const callSubjects = {
  tags: Tags.optional().openapi({
    description: "The tags of the call; those of its agent and of the API key are added",
  }),
  model: z.string().min(1).max(200).optional().openapi({ example: "claude-opus-5" }),
  provider: z.string().min(1).max(100).optional().openapi({ example: "anthropic" }),
  source: z.enum(SIGHTING_SOURCES).optional().openapi({
    description: "How the call will be told; `report` if not given",
  }),
  billing: z.enum(BILLINGS).optional().openapi({
    description: "Who will pay for the call; `billed` if not given",
  }),
};

/** The same, as answers have them. */
export const subjectValues = {
  ...namedValues,
  tags: Tags.nullable().openapi({ type: ["object", "null"], description: TAGS }),
  model: z.string().nullable().openapi({ description: MODEL }),
  provider: z.string().nullable().openapi({ description: PROVIDER }),
  source: z.enum(CALL_SOURCES).nullable().openapi({ description: SOURCE }),
  billing: z.enum(BILLINGS).nullable().openapi({ description: BILLING }),
};

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
