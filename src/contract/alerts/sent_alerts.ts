import { z } from "@hono/zod-openapi";
import { TestResult } from "../channels.ts";
import { Label } from "../parts.ts";
import { AlertId } from "./alerts.ts";

/** The wire schemas of alerts that are sent on request: of a test of a rule, and again. */

export const RuleTest = z.object({ alert_id: AlertId, results: z.array(TestResult) }).openapi(
  "AlertRuleTest",
);
export type RuleTest = z.infer<typeof RuleTest>;

export const AlertResend = z.object({ alert_id: AlertId, results: z.array(TestResult) }).openapi(
  "AlertResend",
);
export type AlertResend = z.infer<typeof AlertResend>;

export const AcknowledgementBody = z.strictObject({
  note: Label.optional().openapi({ description: "For those that read it later", example: "A planned run" }),
}).openapi("AcknowledgementBody");
