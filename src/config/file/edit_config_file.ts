import { randomUUID } from "node:crypto";
import { applyEdits, type JSONPath, modify } from "jsonc-parser";
import { basename, dirname, join } from "node:path";
import { PurserError, systemReason } from "../../kernel/errors.ts";
import { readTextFile } from "../../kernel/files.ts";
import { withoutByteOrderMark } from "./parse_jsonc.ts";
import { readConfigText } from "./read_config_text.ts";

/** One change of a config file: a value at a path; undefined removes it. */
export interface ConfigEdit {
  at: JSONPath;
  value: unknown;
}

/** The text of a new config file. */
const EMPTY = "{\n}\n";

/**
 * Changes one value of a config file and keeps the rest, including comments and formatting. `decide` receives the text;
 * undefined means that there is no file, and one is created that only its user can read. The file is replaced
 * atomically, keeps its permissions, and stays a symbolic link if it is one.
 *
 * @throws {PurserError} `unavailable` when the file can't be written; errors of `decide`
 */
export async function editConfigFile(
  path: string,
  decide: (text: string | undefined) => ConfigEdit,
): Promise<void> {
  const before = (await readConfigText(path, false, readTextFile))?.content;
  const { at, value } = decide(before);
  const text = before === undefined || before.trim() === "" ? EMPTY : before;
  const json = withoutByteOrderMark(text);
  const edits = modify(json, at, value, { formattingOptions: formattingOf(json) });
  await replaceFile(path, text.slice(0, text.length - json.length) + applyEdits(json, edits));
}

/** Detects the file's indentation and line endings for what is added. */
function formattingOf(text: string) {
  const indent = /^[ \t]+(?=["/}])/m.exec(text)?.[0] ?? "  ";
  return {
    insertSpaces: !indent.startsWith("\t"),
    tabSize: indent.startsWith("\t") ? 1 : indent.length,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
}

async function replaceFile(path: string, text: string): Promise<void> {
  const { chmod, mkdir, open, realpath, rename, rm, stat } = await import("node:fs/promises");
  let draft: string | undefined;
  try {
    const target = await realpath(path).catch(() => path);
    const mode = await stat(target).then((stat) => stat.mode, () => null);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    draft = join(dirname(target), `.${basename(target)}.${randomUUID().slice(0, 8)}.part`);
    await using file = await open(draft, "wx", 0o600);
    await file.writeFile(text);
    await file.datasync();
    if (mode !== null) await chmod(draft, mode & 0o777);
    await rename(draft, target);
  } catch (error) {
    if (draft !== undefined) await rm(draft, { force: true }).catch(() => {});
    throw new PurserError("unavailable", `Cannot write ${path}: ${systemReason(error)}`, { cause: error });
  }
}
