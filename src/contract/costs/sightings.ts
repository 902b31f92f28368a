import { z } from "@hono/zod-openapi";
import { AGENT_LIMITS, MAX_CALL_TOKENS, MAX_SIGHTINGS } from "../limits.ts";
import { CostUsd, Count, name, PlanUsd } from "../parts.ts";
import { Tags } from "../tags/tag_schemas.ts";
import { billedParts, otherParts, servedAs } from "../usage.ts";
import { QUALITIES, SIGHTING_OUTCOMES, SIGHTING_SOURCES } from "../values.ts";

/** The wire schemas of what logs and exporters have seen of calls. */

const Tokens = z.number().int().nonnegative().max(MAX_CALL_TOKENS).openapi({ format: "int64" });
const text = (most = 300) => z.string().min(1).max(most);

const SightingBody = z.strictObject({
  ref: text().openapi({
    description: "Name of the call within its source: the same in every copy of its record",
    example: "msg_01ABcdEF",
  }),
  response_id: text().optional().openapi({ description: "The provider's id of the answer" }),
  request_id: text().optional().openapi({ description: "The provider's id of the request" }),
  account: text().optional().openapi({ description: "The provider's id of the account that pays" }),
  fingerprint: text().optional().openapi({
    description: "Identity of a call without ids whose records are copied under new refs",
  }),
  provider: text(200).optional().openapi({ description: "Absent where the source doesn't know who bills" }),
  model: text(200).optional(),
  at: z.iso.datetime({ offset: true }).openapi({
    format: "date-time",
    description: "Time of the call",
    example: "2026-11-21T09:30:00.000Z",
  }),
  duration_ms: z.number().nonnegative().max(1e12).optional(),
  input_tokens: Tokens.openapi({ description: "All input tokens, cache reads and cache writes included" }),
  output_tokens: Tokens.openapi({ description: "All output tokens, reasoning included" }),
  cache_read_tokens: Tokens.optional(),
  cache_write_tokens: Tokens.optional(),
  cache_write_1h_tokens: Tokens.optional(),
  reasoning_tokens: Tokens.optional(),
  ...billedParts(Tokens),
  ...otherParts(Tokens, z.strictObject),
  ...servedAs(z.string().min(1).max(100)),
  quality: z.enum(QUALITIES).optional().openapi({
    description: "How the counts are known; default: `exact`",
  }),
  marks: z.array(text(100)).max(20).optional().openapi({ description: "What the source could not say" }),
  tools: z.array(text(200)).max(AGENT_LIMITS.tools).optional(),
  stated_cost_usd: text(100).optional().openapi({ description: "Cost as the source writes it, in USD" }),
  billing: z.literal("plan").optional().openapi({
    description: "`plan` where the source knows that a subscription pays for the call",
  }),
  session: text(1000).optional().openapi({ description: "The session as its agent names it" }),
  is_copy: z.boolean().optional().openapi({
    description: "True in a session that has copied the call from another",
  }),
  is_found_by_counts: z.boolean().optional().openapi({
    description:
      "True if the log and the telemetry of the agent share no id of the call: its counts, time and session tell",
  }),
  subagent: z.strictObject({ id: text(), parent: text().optional(), type: text().optional() }).optional(),
  folder: text(4096).optional().openapi({
    description: "Working directory; the call's tag `project` is its name",
  }),
  branch: text(1000).optional(),
  tags: Tags.optional(),
}).openapi("SightingBody");
export type SightingBody = z.infer<typeof SightingBody>;

export const SightingsBody = z.strictObject({
  origin: z.strictObject({
    source: z.enum(SIGHTING_SOURCES).openapi({ example: "log" }),
    name: name("claude-code").openapi({ description: "The agent or exporter; refs are unique within it" }),
    machine: text(100).optional().openapi({ example: "laptop" }),
    agent_id: name("claude-code"),
  }),
  sightings: z.array(SightingBody).max(MAX_SIGHTINGS),
}).openapi("SightingsBody");
export type SightingsBody = z.infer<typeof SightingsBody>;

export const SightingsResult = z.object({
  booked: Count.openapi({ description: "Number of calls that are new" }),
  duplicates: Count.openapi({ description: "Number of sightings that say nothing new" }),
  amended: Count.openapi({ description: "Number of sightings that have corrected a call" }),
  enriched: Count.openapi({ description: "Number of sightings that have added tags to a call" }),
  refused: Count.openapi({ description: "Number of sightings that no call can be made of" }),
  conflicts: Count.openapi({ description: "Number of sightings whose counts contradict a better witness" }),
  unpriced: Count.openapi({ description: "Number of new calls without a known price" }),
  cost_usd: CostUsd.openapi({
    description: "USD, of what was booked and corrected; null if no price is known",
  }),
  plan_usd: PlanUsd.optional(),
  // Texts: generated clients must not fail on an outcome that is added later.
  outcomes: z.array(z.string()).openapi({
    description: `What each sighting has changed: ${SIGHTING_OUTCOMES.join(", ")}; others may follow`,
    example: ["booked"],
  }),
  reasons: z.array(z.object({ index: Count, reason: z.string() })).openapi({
    description: "Why sightings were refused",
  }),
}).openapi("SightingsResult");
export type SightingsResult = z.infer<typeof SightingsResult>;
