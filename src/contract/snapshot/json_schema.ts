import { z } from "zod";
import committed from "./snapshot_v1.schema.json" with { type: "json" };
import { Snapshot } from "./snapshot.ts";

/** The path that serves the schema of version 1. */
export const SNAPSHOT_SCHEMA_PATH = "/schemas/snapshot/v1.json";

/** The published schema. */
export const SNAPSHOT_JSON_SCHEMA: Readonly<Record<string, unknown>> = committed;

/**
 * Generates the published JSON Schema (draft 2020-12) from the schema that validates snapshots. It can't express two
 * checks: that tool results have their calls, and the integrity.
 */
export function makeJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(Snapshot, { target: "draft-2020-12", io: "input" });
  return {
    $schema,
    $id: "urn:purser:snapshot:v1",
    title: "Purser session snapshot, version 1",
    description:
      "A whole agent session as one portable document. Fields that are not named here are kept. integrity is " +
      "sha256: and the SHA-256, in hex, of the document's canonical JSON (RFC 8785) without that field.",
    ...schema,
  };
}
