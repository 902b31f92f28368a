import { currentPlatform } from "../../../config/mod.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { files } from "../../../kernel/files/files.ts";
import { replaceFile } from "../../../kernel/files/replace_file.ts";
import { withoutByteOrderMark } from "../../../kernel/json/parse_jsonc.ts";
import { isRecord } from "../../../kernel/records.ts";
import { systemCodeOf, systemReason } from "../../../kernel/system_errors.ts";
import type { CommandContext } from "../../command.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { ask } from "../../terminal/ask.ts";
import { quoteForShell } from "../../../kernel/quote_for_shell.ts";
import { ledgerOptions } from "../ledger_options.ts";
import { addHooks, type IsOwn, ownHooks, removeHooks } from "./edit_settings.ts";
import type { AgentHooks } from "./hooks/agent_hooks.ts";
import { loadHooks } from "./run_gate.ts";

/** A settings file. */
export interface SettingsFile {
  /** Without symbolic links, so that a copy lies beside the file itself. */
  path: string;
  /** Undefined if there is no file. */
  text: string | undefined;
}

/** The settings file of an agent, and what is to be set there. */
interface Target extends SettingsFile {
  hooks: AgentHooks;
  isOwn: IsOwn;
}

/** `purser gate install` */
export async function installGate(ctx: CommandContext, { onError }: { onError: string }): Promise<void> {
  const target = await readTarget(ctx);
  const { hooks: { title, settings }, path, text, isOwn } = target;
  const command = await commandOf(ctx, onError);
  const hooks = Object.fromEntries(settings.events.map((event) => [event, settings.hook(command)]));
  const edited = edit(path, text ?? "", (body) => addHooks(body, hooks, isOwn, text ? {} : settings.rest));
  if (edited === text) return report(ctx, target, { said: `The gate of ${title} is set already in ${path}` });
  await confirm(ctx, target, edited);
  await write(target, edited, {
    isKept: text !== undefined && edit(path, text, (body) => removeHooks(body, isOwn)) === text,
  });
  report(ctx, target, { edited, said: `Set the gate of ${title} in ${path}` });
  if (settings.afterwards !== undefined && !ctx.isJson) ctx.say(settings.afterwards);
}

/** `purser gate uninstall` */
export async function uninstallGate(ctx: CommandContext): Promise<void> {
  const target = await readTarget(ctx);
  const { hooks: { title, settings }, path, text = "", isOwn } = target;
  const removed = edit(path, text, (body) => removeHooks(body, isOwn));
  if (removed === text) return report(ctx, target, { said: `The gate of ${title} is not set in ${path}` });
  const before = await readIfThere(backupOf(path));
  const hooks = ownHooks(withoutByteOrderMark(text), isOwn);
  const isAsInstalled = (from: string, rest: AgentHooks["settings"]["rest"]) =>
    edit(path, from, (body) => addHooks(body, hooks, isOwn, rest)) === text;
  // Where nothing else has changed, the file is again what it was, to the byte.
  const isRestored = before !== undefined && isAsInstalled(before, {});
  const edited = isRestored
    ? before
    : before === undefined && isAsInstalled("", settings.rest)
    ? undefined
    : removed;
  await confirm(ctx, target, edited ?? "");
  await write(target, edited);
  if (isRestored) await files.remove(backupOf(path));
  report(ctx, target, { edited: edited ?? "", said: `Removed the gate of ${title} from ${path}` });
}

/** As many symbolic links are followed by Linux. */
const MAX_LINKS = 40;

const backupOf = (path: string) => `${path}.before-purser`;

/** Returns the command line of the hook. That of a project is for everyone who works on it: it names nothing of this machine. */
async function commandOf(ctx: CommandContext, onError: string): Promise<string> {
  const { terminal, options, args, config: { profile } } = ctx;
  const isProject = options.has("project");
  const words = [
    ...isProject ? ["purser"] : terminal.command?.() ?? ["purser"],
    ...["gate", "--agent", args[0]!, "--on-error", onError],
    ...options.has("stop-before-credits") ? ["--stop-before-credits"] : [],
    ...isProject ? profile === undefined ? [] : ["--profile", profile] : await ledgerOptions(ctx),
  ];
  const quote = currentPlatform() === "windows" ? quoteForWindows : quoteForShell;
  return words.map(quote).join(" ");
}

const quoteForWindows = (word: string) => /^[\w@%+=:,./\\-]+$/.test(word) ? word : `"${word}"`;

/** Recognizes a command line that `commandOf` has made for an agent, of any program and ledger. */
function isCommandOf(agent: string): (command: unknown) => boolean {
  const word = String.raw`(?:[\w@%+=:,./\\-]+|'(?:[^']|'\\'')*'|"[^"]*")`;
  const own = new RegExp(
    `^${word}(?: ${word})* gate --agent ${agent} --on-error (?:open|closed)(?: --stop-before-credits)?(?: --(?:config|profile|server|db) ${word})*$`,
  );
  return (command) => typeof command === "string" && own.test(command);
}

async function readTarget({ args, options, env }: CommandContext): Promise<Target> {
  if (options.has("project") && options.has("user")) {
    throw new UsageError("Cannot use --project with --user: the gate is set in one file", options.command);
  }
  const [agent = ""] = args;
  const hooks = await loadHooks(agent, options.command);
  const home = env.HOME || env.USERPROFILE;
  if (!home && !options.has("project")) {
    throw new PurserError(
      "invalid",
      "Cannot find the settings: there is no home folder; set HOME, or give --project",
    );
  }
  const { dirname, resolve } = await import("node:path");
  const { readlink } = await import("node:fs/promises");
  const given = options.has("project")
    ? hooks.settings.projectFile
    : hooks.settings.userFile({ home: home!, env: (name) => env[name] || undefined });
  // Links may lead to a file that is yet to be created; those that lead in a circle end where they begin.
  let path = resolve(given);
  for (let links = 0; links < MAX_LINKS; links++) {
    const target = await readlink(path).catch(() => undefined);
    if (target === undefined) break;
    path = resolve(dirname(path), target);
  }
  path = await files.realPath(path).catch(() => path);
  const isOwnCommand = isCommandOf(agent);
  const isOwn = (hook: unknown) => isRecord(hook) && (isOwnCommand(hook.command) || isOwnCommand(hook.bash));
  return { hooks, path, text: await readIfThere(path), isOwn };
}

export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    const { isFile, isFolder } = await files.kindOf(path);
    if (!isFile && !isFolder) {
      throw new PurserError("invalid", `Cannot read ${path}: it is not a file`); // a pipe would be waited for
    }
    // A text that is decoded with faults would be written with them.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await files.readBytes(path));
  } catch (cause) {
    if (systemCodeOf(cause) === "ENOENT") return undefined;
    if (cause instanceof TypeError) {
      throw new PurserError("invalid", `Cannot read ${path}: it is not in UTF-8`, { cause });
    }
    if (cause instanceof PurserError) throw cause;
    throw new PurserError("unavailable", `Cannot read ${path}: ${systemReason(cause)}`, { cause });
  }
}

/** Edits a text behind its byte order mark. */
export function edit(path: string, text: string, change: (body: string) => string): string {
  const body = withoutByteOrderMark(text);
  try {
    return text.slice(0, text.length - body.length) + change(body);
  } catch (cause) {
    throw new PurserError(
      "invalid",
      `Cannot edit ${path}: ${messageOf(cause)}; nothing was changed`,
      { cause },
    );
  }
}

/** Shows what changes, and asks. */
export async function confirm(
  ctx: CommandContext,
  { path, text = "" }: SettingsFile,
  edited: string,
): Promise<void> {
  if (!ctx.isJson) {
    ctx.say(path);
    for (const line of changedLines(text, edited)) ctx.say(line);
  }
  if (ctx.options.has("yes")) return;
  const key = await ask(ctx, "Change it? [y/N] ");
  if (key === "y" || key === "Y") return;
  throw key === undefined
    ? new UsageError(
      `Cannot ask whether to change ${path}: there is no terminal; add --yes`,
      ctx.options.command,
    )
    : new PurserError("invalid", `Cannot change ${path}: you said no`);
}

/** Returns the lines that differ, `-` before and `+` after, with two equal ones around them. */
function changedLines(before: string, after: string): string[] {
  const [old, now] = [before, after].map((text) =>
    text === "" ? [] : text.replace(/\n$/, "").split("\n")
  ) as [
    string[],
    string[],
  ];
  const most = Math.min(old.length, now.length);
  let start = 0;
  while (start < most && old[start] === now[start]) start++;
  let end = 0;
  while (end < most - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const around = (lines: string[]) => lines.map((line) => `  ${line}`);
  return [
    ...around(old.slice(Math.max(0, start - 2), start)),
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...now.slice(start, now.length - end).map((line) => `+ ${line}`),
    ...around(old.slice(old.length - end, old.length - end + 2)),
  ];
}

/** Writes settings, or removes a file that has none, unless it was changed since it was read. With `isKept`, a copy stays. */
export async function write(
  { path, text = "" }: SettingsFile,
  edited: string | undefined,
  { isKept = false }: { isKept?: boolean } = {},
): Promise<void> {
  const now = await readIfThere(path);
  if ((now ?? "") !== text) {
    throw new PurserError("conflict", `Cannot write ${path}: it was changed meanwhile; try again`);
  }
  const { stat } = await import("node:fs/promises");
  const mode = now === undefined ? undefined : (await stat(path)).mode;
  // A file that its owner has protected would be replaced all the same.
  if (mode !== undefined && (mode & 0o222) === 0) {
    throw new PurserError("unavailable", `Cannot write ${path}: it is read-only`);
  }
  // Two installations at once keep the same copy: the file as both have read it.
  if (isKept) await replaceFile(backupOf(path), text);
  if (edited !== undefined) return await replaceFile(path, edited);
  try {
    await files.remove(path);
  } catch (cause) {
    throw new PurserError("unavailable", `Cannot remove ${path}: ${systemReason(cause)}`, { cause });
  }
}

export function report(
  { isJson, print }: CommandContext,
  { path, text = "" }: SettingsFile,
  { edited = text, said }: { edited?: string; said: string },
): void {
  print(isJson ? JSON.stringify({ file: path, changed: edited !== text }) : said);
}
