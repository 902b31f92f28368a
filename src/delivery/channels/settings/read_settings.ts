import type { ZodObject, ZodType } from "zod";
import { describeIssue } from "../../../config/mod.ts";
import { PurserError } from "../../../kernel/errors.ts";
import type { ChannelPlugin } from "../channel.ts";
import { createScrub, type Scrub } from "./scrub_secrets.ts";
import { listSecrets, readSecretFiles } from "./secret_settings.ts";

/** Settings that are valid, for `open`. */
export interface ReadSettings {
  settings: unknown;
  /** Removes every secret of theirs from a text. */
  scrub: Scrub;
}

/**
 * Reads the settings of one channel: secrets from their files, then validation by the plugin's schema. Throws
 * `invalid`, with the faults in one line, and without a secret.
 */
export async function readSettings(
  plugin: ChannelPlugin,
  written: Readonly<Record<string, unknown>>,
  readTextFile: (path: string) => Promise<string>,
): Promise<ReadSettings> {
  const schema = refuseUnknownKeys(plugin.settings);
  const settings = await readSecretFiles(written, schema, readTextFile);
  const result = await schema.safeParseAsync(settings);
  const secrets = listSecrets(settings, schema);
  // A secret that the schema has transformed, such as by trimming, is a secret as well.
  if (result.success) secrets.push(...listSecrets(result.data, schema));
  const scrub = createScrub(secrets);
  if (result.success) return { settings: result.data, scrub };
  const known = Object.keys((schema as ZodObject).shape);
  const faults = result.error.issues.flatMap((issue) =>
    describeIssue(issue, (path) => path.length === 0 ? known : [])
  );
  throw new PurserError("invalid", scrub(faults.slice(0, 5).join("; ")));
}

/** Rejects unknown keys, which may be misspelt; a plugin that takes any uses `z.looseObject`. */
function refuseUnknownKeys(schema: ZodType): ZodType {
  const { catchall } = schema._zod.def as { catchall?: unknown };
  return catchall === undefined ? (schema as ZodObject).strict() : schema;
}
