import { randomUUID } from "node:crypto";
import { applyEdits, type JSONPath, modify } from "jsonc-parser";
import { basename, dirname, join } from "node:path";
import { PurserError, systemReason } from "../../kernel/errors.ts";
import { readTextFile } from "../../kernel/files.ts";
import { withoutMark } from "./parse_jsonc.ts";
import { readConfigText } from "./read_config_text.ts";

/** One change of a config file: a value at a place; undefined takes it away. */
export interface ConfigEdit {
  at: JSONPath;
  value: unknown;
}

/** What a config file begins as. */
const EMPTY = "{\n}\n";

/**
 * Changes one place of a config file and leaves all else as it is written, comments and formatting too. `decide` gets
 * the text, undefined where there is no file: then one is made that only its user can read. The file is replaced at
 * once, keeps its permissions, and stays a link where it is one.
 *
 * @throws {PurserError} `unavailable` when it can't be written; what `decide` throws
 */
export async function editConfigFile(
  path: string,
  decide: (text: string | undefined) => ConfigEdit,
): Promise<void> {
  const before = (await readConfigText(path, false, readTextFile))?.content;
  const { at, value } = decide(before);
  const text = before === undefined || before.trim() === "" ? EMPTY : before;
  const json = withoutMark(text);
  const edits = modify(json, at, value, { formattingOptions: formattingOf(json) });
  await replaceFile(path, text.slice(0, text.length - json.length) + applyEdits(json, edits));
}

/** How the file is formatted, so that what is added looks like the rest. */
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
    const place = await realpath(path).catch(() => path);
    const mode = await stat(place).then((stat) => stat.mode, () => null);
    await mkdir(dirname(place), { recursive: true, mode: 0o700 });
    draft = join(dirname(place), `.${basename(place)}.${randomUUID().slice(0, 8)}.part`);
    await using file = await open(draft, "wx", 0o600);
    await file.writeFile(text);
    await file.datasync();
    if (mode !== null) await chmod(draft, mode & 0o777);
    await rename(draft, place);
  } catch (error) {
    if (draft !== undefined) await rm(draft, { force: true }).catch(() => {});
    throw new PurserError("unavailable", `Cannot write ${path}: ${systemReason(error)}`, { cause: error });
  }
}
