import { z } from "@hono/zod-openapi";

/** The wire schemas of the service itself. */

export const Health = z.object({
  status: z.literal("ok"),
  version: z.string().openapi({ example: "0.1.0" }),
  environment: z.string().openapi({ description: "`PURSER_ENVIRONMENT`", example: "local" }),
}).openapi("Health");
export type Health = z.infer<typeof Health>;

export const DoctorCheck = z.object({
  name: z.string().openapi({ example: "channel ops" }),
  status: z.enum(["ok", "warning", "failed"]),
  detail: z.string().openapi({ description: "The finding, for people; no secret" }),
  advice: z.string().nullable().openapi({ description: "The remedy; null where none is needed or known" }),
}).openapi("DoctorCheck");
export type DoctorCheck = z.infer<typeof DoctorCheck>;
