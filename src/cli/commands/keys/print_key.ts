import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { files } from "../../../kernel/files/files.ts";
import { systemReason } from "../../../kernel/system_errors.ts";
import type { ApiKey } from "../../../keys/mod.ts";
import type { CommandContext } from "../../command.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/**
 * Makes a key and prints it: to standard output, or with `--output` to a new file. Returns it, and a sentence on where it is.
 * `unmade` says what was not made where the file can't be written.
 */
export async function printKey(
  ctx: CommandContext,
  unmade: string,
  make: () => Promise<ApiKey & { key: string }>,
): Promise<{ created: ApiKey & { key: string }; where: string }> {
  const path = ctx.options.text("output");
  if (path !== undefined) await reserveFile(path, unmade);
  let created: ApiKey & { key: string };
  try {
    created = await make();
  } catch (error) {
    if (path !== undefined) await files.remove(path).catch(() => {});
    throw error;
  }
  const { key, ...rest } = created;
  if (path === undefined) ctx.print(ctx.isJson ? JSON.stringify(created) : escapeText(key));
  else {
    await writeKey(ctx, path, created);
    if (ctx.isJson) ctx.print(JSON.stringify({ ...rest, file: path }));
  }
  return {
    created,
    where: path === undefined ? "It is shown only once; store it safely" : `It is in ${path} alone`,
  };
}

/** Creates the file before the key: a key that can't be kept must not be made. */
async function reserveFile(path: string, unmade: string): Promise<void> {
  try {
    await files.writeNew(path, "");
  } catch (error) {
    const reason = systemReason(error);
    throw new PurserError("conflict", `Cannot write the key to ${path}: ${reason}; ${unmade}`, {
      cause: error,
    });
  }
}

/** Writes a key to its file, or revokes it. */
async function writeKey(ctx: CommandContext, path: string, created: { key_id: string; key: string }) {
  const { replaceFile } = await import("../../../kernel/files/replace_file.ts");
  try {
    await replaceFile(path, `${created.key}\n`);
  } catch (error) {
    const { api } = await ctx.connect();
    const { key_id } = created;
    await api.keys[":key_id"].$delete({ param: { key_id } });
    throw new PurserError("unavailable", `${messageOf(error)}; key ${key_id} was revoked`, { cause: error });
  }
}
