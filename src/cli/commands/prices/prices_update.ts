import type { PriceUpdate } from "../../../pricing/updates/mod.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { type Command, type CommandContext, flag, option, optionalArg } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** `purser prices update [FILE|URL]` */
export const pricesUpdate: Command = {
  name: "prices update",
  args: [optionalArg("FILE|URL", { isFile: true })],
  summary: "Update the prices of models",
  detail:
    "Takes the data file of genai-prices or LiteLLM's map, by default both as they are published, into your data " +
    "directory, where every command and server of yours reads them within a minute. A model that is gone, and one whose " +
    "rate changes by more than three times, is held back until it is accepted. Calls that are booked keep their price.",
  options: {
    accept: option("MODEL", "Take what is held back of this model (repeatable)"),
    "accept-all": flag("Take all that is held back"),
    "dry-run": flag("Only show what would change"),
  },
  examples: [
    ["purser prices update --dry-run", "Show what is new"],
    ["purser prices update", ""],
    [
      "purser prices update ./data.json --accept openai:gpt-5",
      "From a file, with a change that was held back",
    ],
  ],
  run: update,
};

async function update(ctx: CommandContext): Promise<number> {
  const folder = readFolder(ctx);
  const { PRICE_SOURCES, PRICE_URLS, updatePrices } = await import("../../../pricing/updates/mod.ts");
  const [given] = ctx.args;
  const accepted = ctx.options.has("accept-all") ? "all" as const : new Set(ctx.options.texts("accept"));
  const isDryRun = ctx.options.has("dry-run");
  const updates: PriceUpdate[] = [];
  const errors: unknown[] = [];
  for (const from of given === undefined ? PRICE_SOURCES.map((source) => PRICE_URLS[source]) : [given]) {
    try {
      const parts = { clock: ctx.clock, log: ctx.log, fetch: globalThis.fetch, folder };
      updates.push(await updatePrices(parts, { from, accepted, isDryRun }));
    } catch (error) {
      errors.push(error);
    }
  }
  await printUpdates(ctx, updates);
  const unknown = [...accepted].filter((name) => updates.every((one) => one.unknown.includes(name)));
  if (errors.length === 0 && unknown.length > 0) {
    throw new PurserError(
      "invalid",
      `Cannot accept ${unknown.join(", ")}: the update changes nothing of it; write a model as it is listed`,
    );
  }
  const [error, ...others] = errors;
  for (const other of others) ctx.warn(messageOf(other));
  if (error !== undefined) throw error;
  return EXIT.done;
}

/** Returns the folder of prices. Those of a server are in the data directory of the user that runs it. */
function readFolder({ config: { server, profile, pricesFolder }, options }: CommandContext): string {
  if (server !== undefined) {
    throw new UsageError(
      "Cannot update the prices of a server from here: run purser prices update on its machine, as its user, without " +
        (profile === undefined ? "--server and PURSER_SERVER" : `the profile ${profile}`),
      options.command,
    );
  }
  if (pricesFolder !== undefined) return pricesFolder;
  throw new PurserError(
    "unavailable",
    "Cannot update the prices: the home directory is not known; set HOME or XDG_DATA_HOME",
  );
}

async function printUpdates(ctx: CommandContext, updates: readonly PriceUpdate[]): Promise<void> {
  if (ctx.isJson) return ctx.print(JSON.stringify(updates.map(toJson)));
  const { renderUpdate } = await import("../../render/render_price_update.ts");
  const { terminal: { stdout, hasUnicode }, style } = ctx;
  for (const update of updates) {
    ctx.print(renderUpdate(update, { columns: stdout.columns, style, hasUnicode }));
    const { held, path, date } = update;
    if (held.length > 0) {
      ctx.warn(
        `${held.length} held back: check the provider's price list, then add --accept ${
          held[0]!.model
        } or --accept-all`,
      );
    }
    ctx.say(escapeText(path === undefined ? "Nothing was written" : `Prices of ${date} are now in ${path}`));
  }
}

/** The result as `--json` prints it; rates are in USD per million tokens, or per thousand. */
function toJson({ previousDate, path, unknown: _, ...update }: PriceUpdate): Record<string, unknown> {
  return { ...update, previous_date: previousDate, path: path ?? null, dry_run: path === undefined };
}
