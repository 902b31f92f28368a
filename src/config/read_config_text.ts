import { messageOf, PurserError } from "../errors.ts";

/**
 * The text of the config file; undefined where there is none and nobody named one. Throws `invalid` where it can't be
 * read.
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
    const isMissing = error instanceof Error &&
      (error.name === "NotFound" || (error as { code?: unknown }).code === "ENOENT");
    if (isMissing && !isNamed) return undefined;
    const reason = isMissing ? "there is no such file" : messageOf(error);
    throw new PurserError("invalid", `Cannot read the config file ${path}: ${reason}`, { cause: error });
  }
}
