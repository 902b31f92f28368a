import { z } from "@hono/zod-openapi";
import { WEEK_DAYS } from "./calendars/zones.ts";
import { Position, Time } from "./parts.ts";
import { AUDIT_ACTIONS, AUDIT_ACTORS, AUDIT_KINDS } from "./values.ts";

/** The wire schemas of the service itself. */

export const Health = z.object({
  status: z.literal("ok"),
  version: z.string().openapi({ example: "0.1.0" }),
  environment: z.string().openapi({ description: "`PURSER_ENVIRONMENT`", example: "local" }),
  time_zone: z.string().openapi({ description: "Default of reports, budgets and rules", example: "UTC" }),
  week_start: z.enum(WEEK_DAYS),
  month_start_day: z.int(),
}).openapi("Health");
export type Health = z.infer<typeof Health>;

export const DoctorCheck = z.object({
  name: z.string().openapi({ example: "channel ops" }),
  status: z.enum(["ok", "warning", "failed"]),
  detail: z.string().openapi({ description: "The finding, for people; no secret" }),
  advice: z.string().nullable().openapi({ description: "The remedy; null where none is needed or known" }),
}).openapi("DoctorCheck");
export type DoctorCheck = z.infer<typeof DoctorCheck>;

/** The wire schema of the audit log. */

const Fields = z.record(z.string(), z.unknown()).nullable();

export const AuditEntry = z.object({
  position: Position,
  at: Time,
  actor: z.enum(AUDIT_ACTORS).openapi({
    description:
      "`key`: an API key; `session`: a session of the dashboard, by its key; `local`: a command that has the database " +
      "open; `code`: a program or its config; `anonymous`: a request without a key, before there was one",
  }),
  key_id: z.string().nullable(),
  actor_name: z.string().nullable().openapi({
    description: "The name of the key at that time; `user@host` of a command",
    example: "anna@laptop",
  }),
  address: z.string().nullable().openapi({
    description:
      "The address of the client; null of a command, a program, and where the server doesn't know it",
  }),
  label: z.string().nullable().openapi({
    description: "The label of the file that `purser apply` has applied; null of all other changes",
  }),
  action: z.enum(AUDIT_ACTIONS),
  // Not an enumeration: its constants would take the names of the types of resources in Go.
  kind: z.string().openapi({ description: `One of ${AUDIT_KINDS.join(", ")}`, example: AUDIT_KINDS[0] }),
  subject_id: z.string(),
  subject_name: z.string().nullable().openapi({ description: "The name at that time" }),
  before: Fields.openapi({
    description: "The fields that differ, as they were; null of what is new. It never has a secret",
  }),
  after: Fields.openapi({ description: "The same fields after the change; null of what is removed" }),
}).openapi("AuditEntry");
export type AuditEntry = z.infer<typeof AuditEntry>;
