import type { OpenAPIHono } from "@hono/zod-openapi";
import { SNAPSHOT_JSON_SCHEMA } from "../snapshots/mod.ts";

/** The snapshot's schema in the OpenAPI document. */
export const SnapshotReference = { $ref: "#/components/schemas/Snapshot" };

/** Puts the published schema among the document's components, each of its definitions as one of its own. */
export function registerSnapshotSchema({ openAPIRegistry }: OpenAPIHono): void {
  const { $schema: _schema, $id: _id, $defs = {}, ...snapshot } = JSON.parse(
    JSON.stringify(SNAPSHOT_JSON_SCHEMA).replaceAll("#/$defs/", "#/components/schemas/Snapshot"),
  );
  openAPIRegistry.registerComponent("schemas", "Snapshot", snapshot);
  for (const [name, definition] of Object.entries($defs)) {
    openAPIRegistry.registerComponent("schemas", `Snapshot${name}`, definition as object);
  }
}
