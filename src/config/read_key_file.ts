import { PurserError, systemCodeOf, systemReason } from "../kernel/errors.ts";
import { readTextFile } from "../kernel/files.ts";

/** Longer than any key: the content of a wrong file is refused rather than sent. */
const MAX_KEY = 4_096;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory; write the key into it",
  EISDIR: "is a directory; name the file in it",
};

/**
 * Reads a file that contains one API key, and warns when other users can read it. No message contains its content.
 *
 * @throws {PurserError} `invalid` when the file can't be read or contains no key
 */
export async function readKeyFile(path: string, warn: (message: string) => void): Promise<string> {
  const refuse = (reason: string, cause?: unknown) =>
    new PurserError("invalid", `Cannot use the API key file ${path}: ${reason}`, { cause });
  let text: string;
  try {
    text = await readTextFile(path);
  } catch (error) {
    const reason = REASONS[systemCodeOf(error) ?? ""];
    throw refuse(reason ?? systemReason(error), error);
  }
  const key = text.trim();
  if (key === "") throw refuse("it is empty; write the key into it");
  if (key.length > MAX_KEY || !/^[\x21-\x7e]+$/.test(key)) {
    throw refuse("it must contain one key and nothing else");
  }
  const { stat } = await import("node:fs/promises");
  const { mode } = await stat(path);
  // Windows has no permission bits.
  if ((mode & 0o077) !== 0 && globalThis.process.platform !== "win32") {
    warn(`Other users can read the API key file ${path}: chmod 600 ${path}`);
  }
  return key;
}
