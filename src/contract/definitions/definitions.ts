import { z } from "@hono/zod-openapi";
import { AGENT_FIELDS, AgentBody } from "../agents.ts";
import { RULE_FIELDS, RuleInput } from "../alerts/alert_rules.ts";
import { BUDGET_FIELDS, BudgetInput } from "../budgets/budgets.ts";
import { ApiKeyBody, NewApiKey } from "../keys.ts";
import { priceName } from "../price_name.ts";
import { PriceOverride } from "../price_override.ts";
import { Label } from "../parts.ts";
import { AuditEntry } from "../service.ts";

/** The wire schemas of a file of definitions, and of applying it. */

const MOST = 1_000;

/** An API key without its expiry, which is a time of its own and not a definition. */
const DefinedKey = ApiKeyBody.omit({ expires_at: true });

/** The sections of a file, each with what is identified by its name in it. */
const sections = {
  keys: z.array(DefinedKey).max(MOST).optional().openapi({
    description:
      "API keys. One that isn't there is created; of one that is, only what `ApiKeyChanges` has can change",
  }),
  agents: z.array(AgentBody.required({ name: true })).max(MOST).optional(),
  budgets: z.array(BudgetInput).max(MOST).optional().openapi({
    description: "`key_id` may also be the name of a key, and of one in the same file",
  }),
  rules: z.array(RuleInput).max(MOST).optional(),
  prices: z.array(PriceOverride).max(MOST).optional().openapi({
    description: "Identified by provider, model, `service_tier` and `from`",
  }),
};

/** Returns the name by which a definition is identified in its section. */
export const definedName = (input: Named | PriceOverride): string =>
  "name" in input ? input.name : priceName(input);

export const SECTIONS = Object.keys(sections) as readonly (keyof typeof sections)[];

/** The names of the fields in each section. */
export const FIELDS: Readonly<Record<keyof typeof sections, readonly string[]>> = {
  keys: Object.keys(DefinedKey.shape),
  agents: AGENT_FIELDS,
  budgets: BUDGET_FIELDS,
  rules: RULE_FIELDS,
  prices: Object.keys(PriceOverride.shape),
};

type Named = { name: string };

/** The definitions of a file. Within a section, each name is there once. */
export const Definitions = z.strictObject({ label: Label.optional(), ...sections }).superRefine(refuseTwice);
export type Definitions = z.infer<typeof Definitions>;

function refuseTwice(
  body: { [Section in keyof typeof sections]?: readonly (Named | PriceOverride)[] | undefined },
  { addIssue }: { addIssue(issue: { code: "custom"; path: PropertyKey[]; message: string }): void },
): void {
  for (const section of SECTIONS) {
    const seen = new Map<string, number>();
    for (const [index, input] of (body[section] ?? []).entries()) {
      const name = definedName(input);
      const first = seen.get(name);
      if (first === undefined) seen.set(name, index);
      else {
        addIssue({
          code: "custom",
          path: [section, index, "name" in input ? "name" : "model"],
          message: `repeats the name of ${section}[${first}]`,
        });
      }
    }
  }
}

export const ApplyBody = z.strictObject({
  label: Label.openapi({
    description: "Names the file: `prune` removes only what was created under the same label",
    example: "team.json",
  }),
  ...sections,
  prune: z.boolean().optional().openapi({
    description: "Removes what an earlier file of this label has created, and this one doesn't have",
  }),
  dry_run: z.boolean().optional().openapi({
    description: "Changes nothing, and answers with what would change",
  }),
  plan: z.string().optional().openapi({
    description:
      "The `plan` of a dry run: if something else would change by now, it is refused with `conflict`",
  }),
}).superRefine(refuseTwice).openapi("ApplyBody");
export type ApplyBody = z.infer<typeof ApplyBody>;

export const Applied = z.object({
  label: z.string(),
  dry_run: z.boolean(),
  plan: z.string().openapi({ description: "A hash of the changes" }),
  changes: z.array(
    AuditEntry.pick({ action: true, kind: true, before: true, after: true }).extend({
      name: z.string(),
      id: z.string().nullable().openapi({ description: "Null in a dry run of what is new" }),
    }),
  ),
  unchanged: z.int().openapi({ description: "The number of definitions that are in effect already" }),
  new_keys: z.array(NewApiKey.pick({ key_id: true, name: true, key: true })).openapi({
    description: "The API keys that were created, with their text, which is returned only here",
  }),
}).openapi("Applied");
export type Applied = z.infer<typeof Applied>;
