import type { BudgetInput } from "../../contract/budgets/budgets.ts";
import { BILLINGS, BUDGET_EACH, CALL_SOURCES } from "../../contract/values.ts";
import { option } from "../command.ts";
import { NAMED_OPTIONS, readNamed } from "./dimension_options.ts";
import { checkName, orNone } from "./given_fields.ts";
import type { Options } from "./options.ts";
import { readGroup, readTags } from "./parse_tags.ts";

/* The options by which budgets and alert rules name the calls that they count. */

/** Returns a list of words: `agent, session or key`. */
export const anyOf = (words: readonly string[]) => `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

export const SUBJECT_OPTIONS = {
  ...NAMED_OPTIONS,
  tag: option("KEY=VALUE", "Count only calls with this tag; repeat for more that a call must have", {
    some: ["none"],
  }),
  model: option("MODEL", "Count only this model, or the models of a pattern, such as claude-opus-*", {
    live: "model",
  }),
  provider: option("PROVIDER", "Count only this provider"),
  source: option("SOURCE", "Count only calls of this source", { oneOf: [...CALL_SOURCES, "none"] }),
  billing: option("WHO", "Count plan: the API value of a plan's calls; or billed: only billed calls", {
    oneOf: [...BILLINGS, "none"],
  }),
  each: option("KIND", `Count each by itself: ${anyOf([...BUDGET_EACH, "tag:KEY"])}; none: one counter`, {
    some: [...BUDGET_EACH, "tag:customer", "none"],
  }),
};

/** The options that name subjects, for texts: `--agent, --session or --key`. */
export const SUBJECT_NAMES = anyOf(
  Object.keys(SUBJECT_OPTIONS).filter((name) => name !== "each").map((name) => `--${name}`),
);

/** The fields that these options set. */
type SubjectFields =
  & ReturnType<typeof readNamed>
  & Partial<Pick<BudgetInput, "tags" | "model" | "provider" | "source" | "billing" | "each">>;

/** Reads these options, where the word none removes a subject. Throws a `UsageError` that names the option. */
export function readSubjects(options: Options): SubjectFields {
  const source = options.oneOf("source", [...CALL_SOURCES, "none"]);
  const billing = options.oneOf("billing", [...BILLINGS, "none"]);
  return {
    ...readNamed(options),
    tags: options.texts("tag").join() === "none" ? null : readTags(options),
    model: options.read("model", orNone(checkName)),
    provider: options.read("provider", orNone(checkName)),
    source: source === "none" ? null : source,
    billing: billing === "none" ? null : billing,
    each: options.text("each") === "none" ? null : readGroup(options, "each", BUDGET_EACH),
  };
}
