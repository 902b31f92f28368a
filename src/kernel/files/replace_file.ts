import { basename, dirname, join } from "node:path";
import { PurserError } from "../errors.ts";
import { systemReason } from "../system_errors.ts";

/**
 * Replaces a file atomically: a reader finds the whole old text or the whole new one, also after a power failure. A file keeps
 * its permissions and stays a symbolic link if it is one; a new one can be read by its user only. With `backup`, the previous
 * text is kept at that path.
 *
 * @throws {PurserError} `unavailable` when the file can't be written; the old one is unchanged
 */
export async function replaceFile(
  path: string,
  text: string,
  options: { backup?: string } = {},
): Promise<void> {
  const { chmod, copyFile, mkdir, open, realpath, rename, rm, stat } = await import("node:fs/promises");
  const drafts: string[] = [];
  try {
    const target = await realpath(path).catch(() => path);
    const mode = await stat(target).then((stat) => stat.mode, () => null);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const draft = draftOf(target);
    drafts.push(draft);
    {
      await using file = await open(draft, "wx", 0o600);
      await file.writeFile(text);
      await file.sync();
    }
    if (mode !== null) await chmod(draft, mode & 0o777);
    if (options.backup !== undefined && mode !== null) {
      const copy = draftOf(options.backup);
      drafts.push(copy);
      await copyFile(target, copy);
      await rename(copy, options.backup);
    }
    await rename(draft, target);
    await syncFolder(dirname(target), open);
  } catch (error) {
    for (const draft of drafts) await rm(draft, { force: true }).catch(() => {});
    throw new PurserError("unavailable", `Cannot write ${path}: ${systemReason(error)}`, { cause: error });
  }
}

function draftOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.${crypto.randomUUID().slice(0, 8)}.part`);
}

/** Makes the new name survive a power failure. Some systems can't open a folder; there, the rename is all that can be done. */
async function syncFolder(folder: string, open: typeof import("node:fs/promises").open): Promise<void> {
  try {
    await using handle = await open(folder, "r");
    await handle.sync();
  } catch {
    // Windows.
  }
}
