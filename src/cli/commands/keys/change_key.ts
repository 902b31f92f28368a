import { PurserError } from "../../../kernel/errors.ts";
import type { ApiKey } from "../../../keys/mod.ts";
import type { CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { orNone } from "../../parse/given_fields.ts";
import { parseExpiry } from "../../parse/parse_time.ts";
import { readTags } from "../../parse/parse_tags.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** Changes the tags of a key, its expiry, or whether it stops before paid credits. The key that was read is the one that is changed. */
export async function changeKey(
  ctx: CommandContext,
  findKeyId: () => Promise<string>,
  describe: (key: ApiKey) => string,
): Promise<void> {
  const { options } = ctx;
  const [stops, allows] = [options.has("stop-before-credits"), options.has("allow-credits")];
  const tag = readTags(options) ?? {};
  const untag = options.texts("untag");
  const both = untag.find((name) => Object.hasOwn(tag, name));
  if (both !== undefined || (stops && allows)) {
    const named = both === undefined
      ? "--stop-before-credits and --allow-credits"
      : `--tag and --untag ${both}`;
    throw new UsageError(`Cannot change the key: ${named} exclude each other`, options.command);
  }
  const changesTags = options.has("tag") || untag.length > 0;
  const expiresAt = options.read("expires", orNone((text) => parseExpiry(text, ctx.clock.now())));
  if (!changesTags && !stops && !allows && expiresAt === undefined) {
    throw new UsageError(
      "Cannot change the key: give --tag, --untag, --expires, --stop-before-credits or --allow-credits",
      options.command,
    );
  }
  const param = { key_id: idInPath(await findKeyId()) };
  const { api } = await ctx.connect();
  const before = await api.keys[":key_id"].$get({ param });
  const { tags: had } = await before.json();
  const missing = untag.find((name) => !Object.hasOwn(had, name));
  if (missing !== undefined) {
    const names = Object.keys(had).join(", ");
    throw new PurserError(
      "invalid",
      `Cannot remove the tag ${missing}: the key has ${names === "" ? "no tags" : `only ${names}`}`,
    );
  }
  const kept = Object.entries({ ...had, ...tag }).filter(([name]) => !untag.includes(name));
  const json = {
    ...(changesTags && { tags: Object.fromEntries(kept) }),
    ...(stops !== allows && { stop_before_credits: stops }),
    expires_at: expiresAt,
  };
  const headers = { "if-match": before.headers.get("etag") ?? "*" };
  await printAnswer(
    ctx,
    await api.keys[":key_id"].$patch({ param, json }, { headers }),
    (key) => `Key ${key.key_id} ${escapeText(key.name)}: ${escapeText(describe(key))}`,
  );
}
