import { dirname, isAbsolute, resolve } from "node:path";
import { PurserError } from "../../kernel/errors.ts";
import { parseDatabaseUrl } from "../../kernel/database_url.ts";
import { describeIssue } from "./describe_issue.ts";
import { parseJsonc } from "./parse_jsonc.ts";
import { ConfigFile, keysKnownAt } from "./schema.ts";
import { formatPath } from "../../kernel/text.ts";

/**
 * Parses and validates a config file: JSON with comments and trailing commas, `${NAME}` in strings replaced from the
 * environment, paths resolved against the file's folder. A text without a path is that of PURSER_CONFIG_JSON, whose
 * paths must be absolute. Variables are expanded in the selected profile only: those of others may be unset.
 *
 * @throws {PurserError} `invalid` with the location in the document; no message contains a value, which may be a secret
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
    throw refuse("it has a relative path, and there is no file to resolve it against; make it absolute");
  };
  const file = result.data;
  if (file.tools) file.tools = file.tools.map(locate);
  if (file.plugins) file.plugins = file.plugins.map(locate);
  if (file.channels) file.channels = file.channels.map((channel) => resolveFileRefs(channel, locate));
  for (const target of [file, ...Object.values(file.profiles ?? {})]) {
    if (target.api_key_file !== undefined) target.api_key_file = locate(target.api_key_file);
  }
  const profile = input.profile === undefined ? undefined : ownValue(file.profiles, input.profile);
  for (const target of [file, ...profile ? [profile] : []]) {
    if (target.db === undefined) continue;
    const address = parseDatabaseUrl(target.db);
    if (address.kind === "file") target.db = locate(address.path);
  }
  return { file, configPath };
}

function expand(written: unknown, context: ExpandContext, profile: string | undefined): unknown {
  const profiles = isRecord(written) ? written.profiles : undefined;
  if (!isRecord(written) || !isRecord(profiles)) return expandVariables(written, context);
  const entries = Object.entries(profiles).map(([name, value]) => [
    name,
    name === profile ? expandVariables(value, context, ["profiles", name]) : value,
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

/**
 * Replaces `${NAME}` in every string by the environment variable; `$${` is an escaped `${`. Throws the error that
 * `refuse` creates; its reason names the variable and the path, never a value.
 */
function expandVariables(value: unknown, context: ExpandContext, path: Path = []): unknown {
  if (typeof value === "string") return expandText(value, context, path);
  if (Array.isArray(value)) {
    return value.map((item, index) => expandVariables(item, context, [...path, index]));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, expandVariables(item, context, [...path, key])]),
  );
}

interface ExpandContext {
  env: Readonly<Record<string, string | undefined>>;
  refuse: (reason: string) => Error;
}

type Path = readonly (string | number)[];

function expandText(text: string, { env, refuse }: ExpandContext, path: Path): string {
  return text.replace(/(\$?)\$\{([^}]*\}?)/g, (whole, escape: string, inner: string) => {
    if (escape) return whole.slice(1);
    const name = /^([A-Za-z_][A-Za-z0-9_]*)\}$/.exec(inner)?.[1];
    if (name === undefined) {
      throw refuse(`${formatPath(path)} contains a \${ that is not \${NAME}; write $\${ for the characters`);
    }
    const value = env[name];
    if (typeof value === "string") return value;
    throw refuse(
      `${formatPath(path)} needs the environment variable ${name}, which is not set; set it or remove the ` +
        "setting from the file",
    );
  });
}

/** Resolves the path in every `{"file": "…"}` of a value. */
function resolveFileRefs<T>(value: T, resolvePath: (path: string) => string): T {
  if (Array.isArray(value)) return value.map((item) => resolveFileRefs(item, resolvePath)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [[key, path] = []] = entries;
  if (entries.length === 1 && key === "file" && typeof path === "string" && path !== "") {
    return { file: resolvePath(path) } as T;
  }
  return Object.fromEntries(entries.map(([key, item]) => [key, resolveFileRefs(item, resolvePath)])) as T;
}
