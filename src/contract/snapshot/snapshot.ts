import { AGENT_STATUSES, BUDGET_MODES } from "../values.ts";
import { z } from "zod";
import { AGENT_LIMITS, MAX_ENVIRONMENT_NAME, PRINTABLE } from "../limits.ts";
import { NAME_PATTERN, NAME_RULE } from "../../kernel/ids.ts";
import { tagIssues } from "../tags/tags.ts";
import { SnapshotMessage, UtcTime } from "./message.ts";

/** The version of the snapshot format that this program writes. */
export const SCHEMA_VERSION = 1;

const name = z.string().regex(NAME_PATTERN, `must be ${NAME_RULE}`);
const AGENT_NAME_RULE = `must be ${NAME_RULE}; snapshot is a path of the API`;
const agentName = z.string().regex(NAME_PATTERN, AGENT_NAME_RULE)
  .refine((agentId) => agentId !== "snapshot", AGENT_NAME_RULE).meta({ not: { const: "snapshot" } });
const count = z.int().nonnegative();

/** Tokens and cost of the session's calls in the environment of the snapshot. */
export const TokenUsage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  total_tokens: count,
  cost_usd: z.number().nonnegative().nullable(),
  model: z.string().nullable(),
  cache_read_tokens: count.optional(),
  cache_write_tokens: count.optional(),
  reasoning_tokens: count.optional(),
  model_calls: count.optional(),
  unpriced_calls: count.optional(),
  partly_priced_calls: count.optional(),
}).meta({ id: "TokenUsage" });

const AgentStatus = z.enum(AGENT_STATUSES);

/** An event of the log of the environment where a snapshot was taken. */
export const SnapshotEvent = z.looseObject({
  seq: count.nullable(),
  type: z.string().min(1),
  at: UtcTime,
  agent_id: z.string(),
  session_id: z.string().nullable(),
  run_id: z.string().nullable(),
  call_id: z.string().nullable(),
  payload: z.record(z.string(), z.unknown()),
  /** The environment that logged it, if not the snapshot's own. */
  imported_from: z.string().optional(),
}).meta({ id: "Event" });
export type SnapshotEvent = z.infer<typeof SnapshotEvent>;

/** The definition of the session's agent. */
export const SnapshotAgent = z.looseObject({
  agent_id: agentName.optional(),
  name: agentName.optional(),
  model: z.string().min(1).max(500).regex(
    new RegExp(`^${PRINTABLE}*$`, "u"),
    "must not contain control characters",
  ),
  system_prompt: z.string().refine((text) => !text.includes("\0"), "must not contain NUL").optional(),
  cost_budget_usd: z.number().nonnegative().max(1e9).nullish(),
  budget_mode: z.enum(BUDGET_MODES).optional(),
  allow_unpriced: z.boolean().optional(),
  max_steps: z.int().min(1).max(AGENT_LIMITS.maxSteps).optional(),
  max_output_tokens: z.int().min(1).max(AGENT_LIMITS.maxOutputTokens).nullish(),
  tools: z.array(z.string()).max(AGENT_LIMITS.tools).optional(),
  tags: z.record(z.string(), z.string()).superRefine((tags, ctx) => {
    for (const { path, message } of tagIssues(tags)) {
      ctx.addIssue({ code: "custom", path: path ? [path] : [], message });
    }
  }).optional(),
}).meta({ id: "Agent" });
export type SnapshotAgent = z.infer<typeof SnapshotAgent>;

const TAG_RULE = "must have a name";
/** Lists of sessions include their tags. */
const MAX_TAG_CHARACTERS = 65_536;
export const TAGS_RULE = `must not have more than ${MAX_TAG_CHARACTERS} characters in all`;

/** Returns whether tags are within the size limit. */
export function areSmall(tags: Record<string, string>): boolean {
  let characters = 0;
  for (const [key, value] of Object.entries(tags)) characters += key.length + value.length;
  return characters <= MAX_TAG_CHARACTERS;
}

/** A whole session as one document, at version 1 of the format. */
export const Snapshot = z.looseObject({
  schema_version: z.literal(SCHEMA_VERSION),
  agent_id: agentName,
  session_id: name,
  state: z.looseObject({
    messages: z.array(SnapshotMessage),
    status: AgentStatus,
    token_usage: TokenUsage.optional(),
  }),
  event_log_count: count,
  tags: z.record(z.string().min(1, TAG_RULE), z.string()).refine(areSmall, TAGS_RULE),
  source_environment: z.string().max(MAX_ENVIRONMENT_NAME),
  exported_at: UtcTime,
  events: z.array(SnapshotEvent).optional(),
  agent: SnapshotAgent.optional(),
  integrity: z.string().regex(/^sha256:[0-9a-f]{64}$/, "must be sha256: and 64 hexadecimal digits")
    .optional(),
});
export type Snapshot = z.infer<typeof Snapshot>;

/** A snapshot without messages and events, which are streamed. */
export type SnapshotHead = Snapshot;
