import { PurserError } from "../../kernel/errors.ts";
import { systemCodeOf, systemReason } from "../../kernel/system_errors.ts";

/**
 * Reads the text of the config file; undefined where the default file does not exist.
 *
 * @throws {PurserError} `invalid` when the file can't be read
 */
export async function readConfigText(
  path: string | undefined,
  isNamed: boolean,
  readTextFile: (path: string) => Promise<string>,
): Promise<{ path: string; content: string } | undefined> {
  if (path === undefined) return undefined;
  try {
    return { path, content: await readTextFile(path) };
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT" && !isNamed) return undefined;
    throw new PurserError("invalid", `Cannot read the config file ${path}: ${systemReason(error)}`, {
      cause: error,
    });
  }
}
