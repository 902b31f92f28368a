import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { SNAPSHOT_JSON_SCHEMA, SNAPSHOT_SCHEMA_PATH } from "./snapshot/json_schema.ts";
import { AgentId, Count, Position, SessionId, Time } from "./parts.ts";

/** The wire's schemas of snapshots, and of what restoring one has done. */

/** The snapshot's schema in the OpenAPI document. */
export const SnapshotReference = { $ref: "#/components/schemas/Snapshot" };

/**
 * Puts the outline of a snapshot among the document's components: its own fields, without what messages, events
 * and the agent are made of. All of it is in the published schema, which the outline points to; a reference into
 * another file is more than many generators of clients can follow.
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

/** A session of two messages, as short as a snapshot can be. */
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
  position: Position.openapi({ description: "Its place in the history that came with the snapshot" }),
  imported_from: z.string().openapi({ description: "The environment whose history it is" }),
  seq: Position.nullable(),
  type: z.string().openapi({ description: "As the other environment calls it" }),
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
  dry_run: z.boolean().openapi({ description: "Whether nothing was written" }),
  new_session: z.boolean(),
  messages_before: Count.openapi({ description: "How many messages the session had, which are replaced" }),
  events_imported: Count,
  fenced_run_id: z.string().nullable().openapi({ description: "The run in progress that was fenced off" }),
  agent_defined: z.boolean().openapi({
    description: "Whether the agent's definition came from the snapshot",
  }),
}).openapi("ImportResult");
export type ImportResult = z.infer<typeof ImportResult>;
