import { z } from "@hono/zod-openapi";
import { CostUsd, Count, PlanUsd, Time } from "../parts.ts";

/** The wire schema of a source of calls. */

/** The time without a call after which a source is quiet, in days. */
export const QUIET_DAYS = 7;

export const SourceOfCalls = z.object({
  source: z.string().nullable().openapi({
    description: "Where its calls were booked from; null for calls of versions that did not record it",
    example: "log",
  }),
  agent_id: z.string().nullable().openapi({
    description:
      "The agent of logs and exported spans; null for the other sources, which have calls of all agents",
    example: "claude-code",
  }),
  machine: z.string().nullable().openapi({
    description: "The machine of logs and exported spans, where it is known",
    example: "laptop",
  }),
  // A text: generated clients must not fail on a state that is added later.
  state: z.string().openapi({
    description:
      `\`active\`, \`quiet\` without a call for ${QUIET_DAYS} days, \`unreadable\` where its last import ` +
      `could not read a file, \`incomplete\` where exports of the last ${QUIET_DAYS} days have calls without usage, sums ` +
      "without calls, or records that can't be read; others may follow",
    example: "active",
  }),
  model_calls: Count.openapi({
    description: "The calls that are booked from it: another source has not taken their place",
  }),
  unpriced_calls: Count,
  cost_usd: CostUsd.openapi({ description: "USD, of `model_calls`; null where no price is known" }),
  plan_usd: PlanUsd.optional(),
  seen_alone: Count.openapi({ description: "Of `model_calls`, those that no other source has seen" }),
  seen_with_others: Count.openapi({
    description:
      "The calls that another source has seen, too: each is booked once, from the more trusted one",
  }),
  conflicts: Count.openapi({
    description: "The calls of others on whose counts it contradicts the source that they are booked from",
  }),
  amended_calls: Count.openapi({ description: "Of its calls, those whose counts were corrected" }),
  first_at: Time.nullable().openapi({ description: "Time of the first call that it has seen" }),
  last_at: Time.nullable().openapi({ description: "Time of the newest call that it has seen" }),
  lower_bound: z.boolean().openapi({
    description: "True for logs and exported spans, which leave out some calls: its sums are lower bounds",
  }),
  holes: z.array(z.string()).openapi({
    description:
      "What is known to be missing, a sentence each: of logs, for importers that are built in; of exports, with what to switch on",
  }),
  files: Count.openapi({ description: "Imported log files, also those that were deleted since" }),
  imported_at: Time.nullable().openapi({
    description: "When a log file was last read; null without an import",
  }),
  unmetered: Count.openapi({
    description:
      "Model calls in the log files or exports that are recorded without usage: they are not booked",
  }),
  rollups: Count.openapi({
    description: "Sums in exports, such as those of agents, without a call beneath them: they are not booked",
  }),
  malformed: Count.openapi({ description: "Records in the log files or exports that could not be read" }),
  duplicates: Count.openapi({ description: "Records in exports that say nothing new of their calls" }),
  unreadable_files: Count.openapi({ description: "Files that the last import could not read" }),
  fault: z.string().nullable().openapi({ description: "One of those files, and why it could not be read" }),
}).openapi("SourceOfCalls");
export type SourceOfCalls = z.infer<typeof SourceOfCalls>;
