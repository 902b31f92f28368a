import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { SNAPSHOT_JSON_SCHEMA, SNAPSHOT_SCHEMA_PATH } from "./json_schema.ts";
import { AgentId, Count, Position, SessionId, Time } from "../parts.ts";

/** Refers to the snapshot's schema in the OpenAPI document. */
export const SnapshotReference = { $ref: "#/components/schemas/Snapshot" };

/**
 * Registers the outline of a snapshot as a component of the document: its own fields, without the fields of messages,
 * events and the agent. The outline links to the published schema, which has all of them; many client generators
 * can't follow a reference into another file.
 */
export function registerSnapshotSchema({ openAPIRegistry }: Pick<OpenAPIHono, "openAPIRegistry">): void {
  const { $schema: _schema, $id: _id, $defs: _defs, title: _title, ...outline } = JSON.parse(
    JSON.stringify(SNAPSHOT_JSON_SCHEMA, (_key, value) => isDeep(value) ? ANY_OBJECT : value),
  );
  openAPIRegistry.registerComponent("schemas", "Snapshot", {
    ...outline,
    externalDocs: { description: "The whole JSON Schema", url: SNAPSHOT_SCHEMA_PATH },
  });
}

const ANY_OBJECT = { type: "object", additionalProperties: true };

function isDeep(value: unknown): boolean {
  return typeof value === "object" && value !== null && ("$ref" in value || "oneOf" in value);
}

/** A minimal snapshot: a session of two messages. */
export const EXAMPLE = {
  schema_version: 1,
  agent_id: "researcher",
  session_id: "ses_demo",
  state: {
    messages: [
      { role: "user", content: "What is 17 * 23?" },
      { role: "assistant", content: "391" },
    ],
    status: "completed",
  },
  event_log_count: 7,
  tags: { ticket: "OPS-42" },
  source_environment: "production",
  exported_at: "2026-11-21T09:30:00.000Z",
};

export const ImportedEvent = z.looseObject({
  position: Position.openapi({ description: "Position in the history that came with the snapshot" }),
  imported_from: z.string().openapi({ description: "The environment that the history is from" }),
  seq: Position.nullable(),
  type: z.string().openapi({ description: "The event's type in that environment" }),
  at: Time,
  agent_id: z.string(),
  session_id: z.string().nullable(),
  run_id: z.string().nullable(),
  call_id: z.string().nullable(),
  payload: z.record(z.string(), z.unknown()),
}).openapi("ImportedEvent");
export type ImportedEvent = z.infer<typeof ImportedEvent>;

export const ImportResult = z.object({
  agent_id: AgentId,
  session_id: SessionId,
  messages_restored: Count,
  dry_run: z.boolean().openapi({ description: "True where nothing was written" }),
  new_session: z.boolean().openapi({ description: "True where the session did not exist here" }),
  messages_before: Count.openapi({
    description: "Number of messages that the session had, which are replaced",
  }),
  events_imported: Count.openapi({
    description: "Number of events of the other environment that are kept as history",
  }),
  fenced_run_id: z.string().nullable().openapi({
    description: "The run that was in progress and is cancelled",
  }),
  agent_defined: z.boolean().openapi({
    description: "True where the agent's definition came from the snapshot",
  }),
}).openapi("ImportResult");
export type ImportResult = z.infer<typeof ImportResult>;
