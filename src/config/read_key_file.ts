import { PurserError, systemCodeOf, systemReason } from "../kernel/errors.ts";
import { readTextFile } from "../kernel/files.ts";

/** Longer than any key; a wrong file is noticed rather than sent. */
const MAX_KEY = 4_096;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory; write the key into it",
  EISDIR: "is a directory; name the file in it",
};

/**
 * Reads the one line of a file with an API key, and warns where others on this machine can read it too. No message
 * repeats what the file holds.
 *
 * @throws {PurserError} `invalid` where the file can't be read or holds no key
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
    throw refuse("it holds something else than one key");
  }
  const { stat } = await import("node:fs/promises");
  const { mode } = await stat(path);
  // Windows has no such bits.
  if ((mode & 0o077) !== 0 && globalThis.process.platform !== "win32") {
    warn(`Others on this machine can read the API key file ${path}: chmod 600 ${path}`);
  }
  return key;
}
