import { parse, type ParseError, printParseErrorCode } from "jsonc-parser";
import { dirname, resolve } from "node:path";
import { PurserError } from "../errors.ts";
import { parseDatabaseUrl } from "./database_url.ts";
import { expandVariables } from "./expand_variables.ts";
import { describeIssue } from "./describe_issue.ts";
import { placeFiles } from "./place_files.ts";
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
    const issues = result.error.issues.flatMap((issue) => describeIssue(issue, keysKnownAt));
    throw refuse(issues.slice(0, 5).join("; "), { issues });
  }

  const file = result.data;
  const folder = dirname(configPath);
  if (file.tools) file.tools = file.tools.map((path) => resolve(folder, path));
  if (file.plugins) file.plugins = file.plugins.map((path) => resolve(folder, path));
  if (file.channels) file.channels = file.channels.map((channel) => placeFiles(channel, folder));
  if (file.db !== undefined) {
    const address = parseDatabaseUrl(file.db);
    if (address.kind === "file") file.db = resolve(folder, address.path);
  }
  return { file, configPath };
}

function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split(/\r\n|\r|\n/);
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
}

/** `CommaExpected` as `comma expected`. */
function spellOut(code: string): string {
  return code.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}
