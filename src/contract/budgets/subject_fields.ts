import { z } from "@hono/zod-openapi";
import { MAX_BUDGET_TAGS } from "../limits.ts";
import { namedFields, namedValues } from "../costs/dimension_fields.ts";
import { Tags } from "../tags/tag_schemas.ts";
import { TAG_LIMITS } from "../tags/tags.ts";
import { BILLINGS, BUDGET_EACH, CALL_SOURCES, SIGHTING_SOURCES } from "../values.ts";
import type { SubjectKind } from "./subjects.ts";

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
  "provider before a colon, of that provider. A pattern that matches no model with a price or a call is refused";
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
