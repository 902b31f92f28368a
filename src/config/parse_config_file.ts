import { parse, type ParseError, printParseErrorCode } from "jsonc-parser";
import { dirname, resolve } from "node:path";
import { PurserError } from "../errors.ts";
import { parseDatabaseUrl } from "./database_url.ts";
import { expandVariables } from "./expand_variables.ts";
import { formatPath } from "../format_path.ts";
import { nearestName } from "./nearest_name.ts";
import { ConfigFile, keysKnownAt } from "./schema.ts";

/**
 * Reads the text of a config file: JSON with comments and trailing commas, `${NAME}` in strings taken from
 * the environment, paths made absolute from the file's folder. Throws `invalid` with the place in the file.
 * No message repeats a value of the file, since any of them may be a secret.
 */
export function parseConfigFile(
  text: string,
  input: { path: string; env: Readonly<Record<string, string | undefined>> },
): { file: ConfigFile; configPath: string } {
  const configPath = resolve(input.path);
  const refuse = (reason: string, details?: Record<string, unknown>) =>
    new PurserError("invalid", `Cannot use the config file ${configPath}: ${reason}`, { details });

  const json = text.replace(/^\uFEFF/, "");
  const errors: ParseError[] = [];
  const written: unknown = parse(json, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error) {
    const { line, column } = positionAt(json, error.offset);
    throw refuse(`line ${line}, column ${column}: ${spellOut(printParseErrorCode(error.error))}`);
  }

  const result = ConfigFile.safeParse(expandVariables(written, { env: input.env, refuse }));
  if (!result.success) {
    const issues = result.error.issues.flatMap((issue) => describeIssue(issue));
    throw refuse(issues.slice(0, 5).join("; "), { issues });
  }

  const file = result.data;
  const folder = dirname(configPath);
  if (file.tools) file.tools = file.tools.map((path) => resolve(folder, path));
  if (file.db !== undefined) {
    const address = parseDatabaseUrl(file.db);
    if (address.kind === "file") file.db = resolve(folder, address.path);
  }
  return { file, configPath };
}

type Issue = ConfigIssue["issues"][number];
type ConfigIssue = NonNullable<ReturnType<typeof ConfigFile.safeParse>["error"]>;

function describeIssue(issue: Issue): string[] {
  const at = formatPath(issue.path) || "the whole file";
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => {
        const near = nearestName(key, keysKnownAt(issue.path));
        return `${formatPath([...issue.path, key])} is not a setting` +
          (near ? `; did you mean ${near}?` : "");
      });
    case "invalid_key":
      return issue.issues.map((inner) => `${at}: the name ${inner.message}`);
    case "invalid_type":
      return [`${at}: ${/received undefined$/.test(issue.message) ? "is missing" : plain(issue.message)}`];
    default:
      return [`${at}: ${plain(issue.message)}`];
  }
}

function plain(message: string): string {
  return message.replace(/^Invalid (?:input|option): /, "");
}

function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split(/\r\n|\r|\n/);
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
}

/** `CommaExpected` as `comma expected`. */
function spellOut(code: string): string {
  return code.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}
