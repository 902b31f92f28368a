import { z } from "@hono/zod-openapi";
import { ImporterName, MachineName } from "./import_files.ts";
import { MAX_CALL_TOKENS, MAX_REPORTED_CALLS } from "./limits.ts";
import { CostUsd, Count } from "./parts.ts";
import { Tags } from "./tags/tag_schemas.ts";
import { billedParts, otherParts, servedAs } from "./usage.ts";

/** The wire schemas of sightings: what a log says of calls. */

const Tokens = z.number().int().nonnegative().max(MAX_CALL_TOKENS).openapi({ format: "int64" });
const text = (max: number) => z.string().max(max);

export const SightingBody = z.strictObject({
  ref: text(500).openapi({
    description: "The name of the call in its log, the same in every copy",
    example: "msg_01",
  }),
  response_id: text(500).optional(),
  request_id: text(500).optional(),
  fingerprint: text(500).optional().openapi({
    description: "The identity of a call without ids, whose records are copied",
  }),
  provider: text(200).optional(),
  model: text(300).optional(),
  at: z.number().openapi({ description: "Time of the call, in milliseconds since the epoch" }),
  duration_ms: z.number().nonnegative().max(1e12).optional(),
  input_tokens: Tokens,
  output_tokens: Tokens,
  cache_read_tokens: Tokens.optional(),
  cache_write_tokens: Tokens.optional(),
  cache_write_1h_tokens: Tokens.optional(),
  reasoning_tokens: Tokens.optional(),
  ...billedParts(Tokens),
  ...otherParts(Tokens, z.strictObject),
  quality: z.enum(["exact", "derived", "provisional", "aggregate", "cost_only"]),
  marks: z.array(text(100)).max(20).optional(),
  ...servedAs(text(100)),
  tools: z.array(text(200)).max(500).optional(),
  stated_cost_usd: text(50).optional().openapi({ description: "As it is written in the log" }),
  is_plan: z.boolean().optional().openapi({
    description: "True if the log says that a plan pays for the call",
  }),
  session_id: text(500).optional(),
  is_copy: z.boolean().optional().openapi({
    description: "True in a session that has copied the call from another one",
  }),
  subagent: z.strictObject({ id: text(500), parent: text(500).optional(), type: text(500).optional() })
    .optional(),
  folder: text(4_096).optional(),
  branch: text(500).optional(),
  tags: Tags.optional(),
}).openapi("SightingBody");
export type SightingBody = z.infer<typeof SightingBody>;

export const SightingsBody = z.strictObject({
  machine: MachineName,
  importer: ImporterName,
  sightings: z.array(SightingBody).max(MAX_REPORTED_CALLS),
}).openapi("SightingsBody");

export const SightedCalls = z.object({
  booked: Count.openapi({ description: "Calls that no one had seen before" }),
  duplicates: Count,
  amended: Count.openapi({ description: "Calls whose counts were corrected" }),
  enriched: Count.openapi({ description: "Calls to which tags were added" }),
  conflicts: Count.openapi({ description: "Sightings that contradict a more trusted one" }),
  unpriced: Count.openapi({ description: "Calls that were booked without a known price" }),
  cost_usd: CostUsd.openapi({ description: "USD, of what was booked and corrected" }),
  refused: z.array(z.object({ index: Count, reason: z.string() })),
}).openapi("SightedCalls");
export type SightedCalls = z.infer<typeof SightedCalls>;
