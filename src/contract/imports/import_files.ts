import { z } from "@hono/zod-openapi";
import { MAX_IMPORT_FILES } from "../limits.ts";

/** The wire schemas of how far the logs of agents have been imported. */

const text = (max: number) => z.string().min(1).max(max).regex(/^[^\0]*$/, "must have no NUL");
const whole = z.int().min(0);
/** Bounded, so that their sums over any number of files are whole. */
const records = whole.max(1_000_000_000);

export const MachineName = text(255).openapi({
  description: "The machine on which the logs lie",
  example: "laptop",
});
export const ImporterName = text(64).openapi({
  description: "The importer that reads the logs",
  example: "claude-code",
});

export const ImportFile = z.strictObject({
  path: text(4_096),
  size: whole.openapi({ description: "In bytes, when it was read" }),
  modified_at: whole.openapi({ description: "Of its last change, in milliseconds since the epoch" }),
  read_to: whole.openapi({ description: "The offset after the last line that was read" }),
  head: z.string().max(100).openapi({
    description: "The number of its first bytes, a colon, and a hash of them",
  }),
  is_ended: z.boolean().openapi({ description: "False if the reader expects more of its last call" }),
  state: z.string().max(65_536).nullable().openapi({ description: "The state of the reader, JSON" }),
  unmetered: records.openapi({ description: "Model calls in it that are recorded without usage" }),
  malformed: records.openapi({ description: "Records in it that could not be read" }),
  fault: z.string().max(1_000).nullable().openapi({ description: "Why it could not be read, else null" }),
}).openapi("ImportFile");
export type ImportFile = z.infer<typeof ImportFile>;

export const ImportFilesBody = z.strictObject({
  machine: MachineName,
  importer: ImporterName,
  files: z.array(ImportFile).max(MAX_IMPORT_FILES),
}).openapi("ImportFilesBody");
export type ImportFilesBody = z.infer<typeof ImportFilesBody>;
