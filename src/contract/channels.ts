import { z } from "@hono/zod-openapi";
import { Count, id, Severity } from "./parts.ts";

/** The wire schemas of channels. */

export const DeliveryId = id("dlv_01k9qv3vae9g1j3m5p7r9t1w3y");

export const TestResult = z.object({
  channel: z.string().openapi({ example: "ops" }),
  kind: z.string().openapi({ example: "webhook" }),
  delivery_id: DeliveryId,
  status: z.enum(["delivered", "failed"]),
  error: z.string().nullable().openapi({ description: "The reason of a failure, for people; no secret" }),
  duration_ms: Count,
}).openapi("ChannelTestResult");
export type TestResult = z.infer<typeof TestResult>;

export const Channel = z.object({
  name: z.string().openapi({ example: "ops" }),
  kind: z.string().openapi({ example: "webhook" }),
  min_severity: Severity.openapi({ description: "Alerts of lower severity are not sent there" }),
  timeout_ms: z.number().openapi({ description: "Time limit of one attempt" }),
  status: z.enum(["ok", "invalid"]),
  problem: z.string().nullable().openapi({
    description: "The reason why nothing can be delivered through it",
  }),
  settings: z.record(z.string(), z.unknown()).openapi({ description: "Secrets are `***`" }),
}).openapi("Channel");
export type Channel = z.infer<typeof Channel>;
