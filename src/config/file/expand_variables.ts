import { isRecord } from "../../kernel/records.ts";
import { formatPath } from "../../kernel/json/format_path.ts";

/**
 * Replaces the variables of a config file by `expandVariables()`. Of the profiles, only those of the selected one are: those of
 * others may be unset.
 */
export function expandFile(written: unknown, context: ExpandContext, profile: string | undefined): unknown {
  const profiles = isRecord(written) ? written.profiles : undefined;
  if (!isRecord(written) || !isRecord(profiles)) return expandVariables(written, context);
  const entries = Object.entries(profiles).map(([name, value]) => [
    name,
    name === profile ? expandVariables(value, context, ["profiles", name]) : value,
  ]);
  const { profiles: _, ...rest } = written;
  return { ...expandVariables(rest, context) as object, profiles: Object.fromEntries(entries) };
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
