import { KEY_STATUSES, type Scope, SCOPES } from "./values.ts";
import { z } from "@hono/zod-openapi";
import { AgentId, Count, id, Label, name, Time } from "./parts.ts";
import { Tags } from "./tags/tag_schemas.ts";

/** The wire schemas of API keys. */

export const KeyId = id("key_01k9qv3v8c7e9g1j3m5p7r9t1w");
export const KeyStatus = z.enum(KEY_STATUSES);

/** Not an enumeration: Go generators would make a constant `Run` of it, which is also the name of a type. */
const ScopeName = z.string().regex(
  new RegExp(`^(${SCOPES.join("|")})$`),
  `must be ${SCOPES.slice(0, -1).join(", ")} or ${SCOPES.at(-1)}`,
) as unknown as z.ZodType<Scope, Scope>;

const Scopes = z.array(ScopeName).openapi({ example: ["run"] });

/** Names of models, or patterns of them. */
const Models = z.array(
  z.string().regex(/^[^\s*]{1,200}\*?$|^\*$/, "must be a model, or the beginning of one and *"),
)
  .openapi({ example: ["claude-*", "gpt-6-luna"] });

const shape = {
  key_id: KeyId,
  name: z.string().openapi({ example: "ci" }),
  scopes: Scopes,
  agent_id: AgentId.nullable().openapi({
    description: "The only agent that the key may access; null for all",
  }),
  models: Models.nullable().openapi({
    description: "The models that the key may call through the gateway; null for all",
  }),
  stop_before_credits: z.boolean().openapi({
    description:
      "Whether its calls through the gateway are refused once the quota of the provider's plan has ended, before they spend " +
      "paid credits",
  }),
  tags: Tags.openapi({
    description: "The tags that all its calls get, in place of tags of the same names that a caller gives",
    example: { user: "anna", team: "search" },
  }),
  status: KeyStatus,
  created_at: Time,
  expires_at: Time.nullable().openapi({ description: "Null for never" }),
  last_used_at: Time.nullable().openapi({ description: "To the minute; null for never" }),
  revoked_at: Time.nullable(),
  rotated_at: Time.optional().openapi({
    description: "When it got its present secret; absent for the first one",
  }),
  previous_valid_until: Time.optional().openapi({
    description: "Until when the secret before is accepted too; absent where it isn't",
  }),
  calls_in_progress: Count.optional().openapi({
    description:
      "Its calls through the gateway of this server that aren't booked yet; absent where there are none, and in lists",
  }),
  web_sessions: Count.openapi({ description: "Sessions of the dashboard that were signed in with the key" }),
};

export const ApiKey = z.object(shape).openapi("ApiKey");
export type ApiKey = z.infer<typeof ApiKey>;

export const NewApiKey = z.object({
  ...shape,
  key: z.string().openapi({
    description: "The key itself; returned only here, and not stored",
    example: "psr_…",
  }),
}).openapi("NewApiKey");
export type NewApiKey = z.infer<typeof NewApiKey>;

/** A key's name alone, which readers without access to keys need. */
export const KeyName = z.object({ key_id: KeyId, name: shape.name, status: KeyStatus }).openapi("KeyName");
export type KeyName = z.infer<typeof KeyName>;

/** The longest time for which a replaced secret is accepted beside the new one. */
const MAX_GRACE_SECONDS = 30 * 86_400;

export const KeyRotationBody = z.strictObject({
  grace_seconds: z.number().int().min(0).max(MAX_GRACE_SECONDS).optional().openapi({
    format: "int32",
    description:
      "How long the present secret is accepted beside the new one; 0 if not given: it ends at once",
  }),
  expires_at: z.iso.datetime({ offset: true }).nullish().openapi({
    format: "date-time",
    description:
      "A new expiry time of the key, null for none; unchanged if not given. An expired key needs one",
    example: "2027-02-19T09:30:00.000Z",
  }),
}).openapi("KeyRotationBody");
export type KeyRotationBody = z.infer<typeof KeyRotationBody>;

export const ApiKeyBody = z.strictObject({
  name: Label,
  scopes: Scopes.min(1).max(SCOPES.length),
  agent_id: name("researcher").nullish().openapi({
    description: "Restricts the key to this agent; not with the scopes `admin` and `approve`",
  }),
  models: Models.min(1).max(100).nullish().openapi({
    description: "Restricts calls through the gateway to these models; only with the scope `call`",
  }),
  stop_before_credits: z.boolean().optional().openapi({
    description: "See `ApiKey`; only with the scope `call`, and false if not given",
  }),
  tags: Tags.optional().openapi({
    description: "The tags that all its calls get, whatever tags a caller gives; none if not given",
    example: { user: "anna", team: "search" },
  }),
  expires_at: z.iso.datetime({ offset: true }).nullish().openapi({
    format: "date-time",
    description: "Expiry time; if not given, the key never expires",
    example: "2027-02-19T09:30:00.000Z",
  }),
}).openapi("ApiKeyBody");

export const ApiKeyChanges = z.strictObject({
  stop_before_credits: z.boolean().optional().openapi({
    description: "See `ApiKey`; unchanged if not given",
  }),
  tags: Tags.optional().openapi({
    description: "All of its tags, of the calls that it makes from then on; unchanged if not given",
  }),
  expires_at: z.iso.datetime({ offset: true }).nullish().openapi({
    format: "date-time",
    description: "A new expiry time, null for none; unchanged if not given",
    example: "2027-02-19T09:30:00.000Z",
  }),
}).openapi("ApiKeyChanges");
export type ApiKeyChanges = z.infer<typeof ApiKeyChanges>;
