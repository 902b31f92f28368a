import { dirname, isAbsolute, resolve } from "node:path";
import { PurserError } from "../../kernel/errors.ts";
import { parseDatabaseUrl } from "../../kernel/database_url.ts";
import { expandVariables } from "./expand_variables.ts";
import { describeIssue } from "./describe_issue.ts";
import { parseJsonc } from "./parse_jsonc.ts";
import { placeFiles } from "../place_files.ts";
import { ConfigFile, keysKnownAt } from "./schema.ts";

/**
 * Reads the text of a config file: JSON with comments and trailing commas, `${NAME}` in strings taken from
 * the environment, paths made absolute from the file's folder. A document without a path is that of
 * PURSER_CONFIG_JSON, in which paths have to be absolute. Of the profiles only `profile` needs its variables:
 * the key of another place may well not be there. Throws `invalid` with the place in the document.
 * No message repeats a value of it, since any of them may be a secret.
 */
export function parseConfigFile(
  text: string,
  input: { path?: string; env: Readonly<Record<string, string | undefined>>; profile?: string },
): { file: ConfigFile; configPath: string | undefined } {
  const configPath = input.path === undefined ? undefined : resolve(input.path);
  const source = configPath === undefined ? "PURSER_CONFIG_JSON" : `the config file ${configPath}`;
  const refuse = (reason: string, details?: Record<string, unknown>) =>
    new PurserError("invalid", `Cannot use ${source}: ${reason}`, { details });

  const written = parseJsonc(text, refuse);
  const result = ConfigFile.safeParse(expand(written, { env: input.env, refuse }, input.profile));
  if (!result.success) {
    const issues = result.error.issues.flatMap((issue) => describeIssue(issue, keysKnownAt));
    throw refuse(issues.slice(0, 5).join("; "), { issues });
  }

  const locate = (path: string): string => {
    if (configPath !== undefined) return resolve(dirname(configPath), path);
    if (isAbsolute(path)) return path;
    throw refuse("a path in it is relative, and there is no file that it could be relative to");
  };
  const file = result.data;
  if (file.tools) file.tools = file.tools.map(locate);
  if (file.plugins) file.plugins = file.plugins.map(locate);
  if (file.channels) file.channels = file.channels.map((channel) => placeFiles(channel, locate));
  for (const place of [file, ...Object.values(file.profiles ?? {})]) {
    if (place.api_key_file !== undefined) place.api_key_file = locate(place.api_key_file);
  }
  const profile = input.profile === undefined ? undefined : ownValue(file.profiles, input.profile);
  for (const place of [file, ...profile ? [profile] : []]) {
    if (place.db === undefined) continue;
    const address = parseDatabaseUrl(place.db);
    if (address.kind === "file") place.db = locate(address.path);
  }
  return { file, configPath };
}

type Context = Parameters<typeof expandVariables>[1];

function expand(written: unknown, context: Context, profile: string | undefined): unknown {
  const profiles = isRecord(written) ? written.profiles : undefined;
  if (!isRecord(written) || !isRecord(profiles)) return expandVariables(written, context);
  const entries = Object.entries(profiles).map(([name, place]) => [
    name,
    name === profile ? expandVariables(place, context, ["profiles", name]) : place,
  ]);
  const { profiles: _, ...rest } = written;
  return { ...expandVariables(rest, context) as object, profiles: Object.fromEntries(entries) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function ownValue<T>(record: Record<string, T> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}
