import { PurserError } from "../../../kernel/errors.ts";
import { files } from "../../../kernel/files/files.ts";
import { isRecord } from "../../../kernel/records.ts";
import type { CommandContext } from "../../command.ts";
import { quoteForShell } from "../../../kernel/quote_for_shell.ts";
import { setSetting, settingIn } from "../gate/edit_settings.ts";
import hooks from "../gate/hooks/claude_code.ts";
import { confirm, edit, readIfThere, report, type SettingsFile, write } from "../gate/install_gate.ts";
import { ledgerOptions } from "../ledger_options.ts";

const NAME = "statusLine";
/** The seconds after which Claude Code runs it again: the calls of a message are imported by then. */
const REFRESH_SECONDS = 5;

/** `purser statusline install` */
export async function installStatusLine(ctx: CommandContext): Promise<void> {
  const file = await readSettings(ctx);
  const { path, text = "" } = file;
  const words = [...ctx.terminal.command?.() ?? ["purser"], "statusline", ...await ledgerOptions(ctx)];
  const command = words.map(quoteForShell).join(" ");
  const current = currentOf(file);
  if (current !== undefined && !isOwn(current)) {
    throw new PurserError(
      "conflict",
      `Cannot set the status line: ${path} has another one; remove its ${NAME} first`,
    );
  }
  if (isRecord(current) && current.command === command) {
    return report(ctx, file, { said: `The status line is set already in ${path}` });
  }
  const value = { type: "command", command, refreshInterval: REFRESH_SECONDS };
  const edited = edit(path, text, (body) => setSetting(body, NAME, value));
  await confirm(ctx, file, edited);
  await write(file, edited);
  report(ctx, file, { edited, said: `Set the status line of Claude Code in ${path}` });
}

/** `purser statusline uninstall` */
export async function uninstallStatusLine(ctx: CommandContext): Promise<void> {
  const file = await readSettings(ctx);
  const { path, text = "" } = file;
  if (!isOwn(currentOf(file))) return report(ctx, file, { said: `The status line is not set in ${path}` });
  const edited = edit(path, text, (body) => setSetting(body, NAME, undefined));
  await confirm(ctx, file, edited);
  await write(file, edited);
  report(ctx, file, { edited, said: `Removed the status line of Claude Code from ${path}` });
}

async function readSettings({ env }: CommandContext): Promise<SettingsFile> {
  const home = env.HOME || env.USERPROFILE;
  if (!home) {
    throw new PurserError("invalid", "Cannot find the settings: there is no home folder; set HOME");
  }
  const { resolve } = await import("node:path");
  const given = hooks.settings.userFile({ home, env: (name) => env[name] || undefined });
  const path = await files.realPath(given).catch(() => resolve(given));
  return { path, text: await readIfThere(path) };
}

function currentOf({ path, text = "" }: SettingsFile): unknown {
  let current: unknown;
  edit(path, text, (body) => (current = settingIn(body, NAME), body));
  return current;
}

/** Recognizes the command line of a status line, of any program and ledger. */
function isOwn(setting: unknown): boolean {
  return isRecord(setting) && typeof setting.command === "string" &&
    /(?:purser[^ /]*|cli\.[jt]s'?) statusline(?: --(?:config|profile|server|db) (?:[^ ']+|'[^']*'))*$/.test(
      setting.command,
    );
}
