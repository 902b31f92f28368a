import { formatPath } from "../../kernel/text.ts";

/**
 * Replaces `${NAME}` in every string value by the environment's value; `$${` stands for `${` itself. Throws
 * what `refuse` makes of the reason, which says what is missing and where, and never what a value is.
 */
export function expandVariables(value: unknown, context: ExpandContext, path: Path = []): unknown {
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
      throw refuse(`${formatPath(path)} holds a \${ that is not \${NAME}; write $\${ for the characters`);
    }
    const value = env[name];
    if (typeof value === "string") return value;
    throw refuse(
      `${formatPath(path)} needs the environment variable ${name}, which is not set; set it or take the ` +
        "setting out of the file",
    );
  });
}
