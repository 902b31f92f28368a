import { basename } from "node:path";
import type { Applied, Definitions } from "../../../contract/definitions/definitions.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { readTextFile } from "../../../kernel/files/read_text_file.ts";
import { formatPath } from "../../../kernel/json/format_path.ts";
import { lineOfPath, parseJsonc } from "../../../kernel/json/parse_jsonc.ts";
import { nearestName } from "../../../kernel/nearest_name.ts";
import { isRecord } from "../../../kernel/records.ts";
import { systemReason } from "../../../kernel/system_errors.ts";
import type { CommandContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { countOf } from "../../render/format_values.ts";
import { ask } from "../../terminal/ask.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** Runs `purser apply FILE`. */
export async function applyFile(ctx: CommandContext): Promise<number> {
  const { options, isJson } = ctx;
  const file = await readDefinitions(ctx.args[0]!);
  const isDryRun = options.has("dry-run");
  if (options.has("show-keys") && !isJson) {
    throw new UsageError(
      "Cannot use --show-keys without --json: the text of a new key is printed anyway",
      options.command,
    );
  }
  const { api } = await ctx.connect();
  const send = async (more: { dry_run?: boolean; plan?: string }) => {
    const json = { ...file.body, prune: options.has("prune"), ...more };
    return await (await api.apply.$post({ json }).catch((error) => {
      throw file.located(error);
    })).json() as Applied;
  };
  const planned = await send({ dry_run: true });
  const { changes, unchanged, plan } = planned;
  if (!isJson) printChanges(ctx, planned);
  if (isDryRun || changes.length === 0) {
    if (isJson) ctx.print(JSON.stringify(planned));
    else if (changes.length === 0) {
      ctx.print(`Nothing to change: ${countOf(unchanged, "definition")} in effect`);
    }
    return isDryRun && changes.length > 0 ? EXIT.wouldChange : EXIT.done;
  }
  const newKeys = changes.filter(({ kind, action }) => kind === "key" && action === "created").length;
  if (isJson && newKeys > 0 && !options.has("show-keys")) {
    throw new UsageError(
      `Cannot apply the file with --json: the text of ${
        countOf(newKeys, "new key")
      } would be lost; add --show-keys`,
      options.command,
    );
  }
  if (!options.has("yes")) {
    const key = await ask(ctx, `Change ${changes.length === 1 ? "it" : "these"}? [y/N] `);
    if (key === "ctrl-c") return EXIT.interrupted;
    if (key === undefined) {
      throw new UsageError(
        `Cannot ask whether to apply ${ctx.args[0]}: there is no terminal; add --yes`,
        options.command,
      );
    }
    if (key.toLowerCase() !== "y") {
      throw new PurserError("invalid", "Cannot apply the file: you said no; nothing was changed");
    }
  }
  const applied = await send({ plan });
  if (isJson) {
    ctx.print(JSON.stringify(applied));
    return EXIT.done;
  }
  ctx.print(`Applied ${countOf(applied.changes.length, "change")}`);
  for (const { name, key } of applied.new_keys) {
    ctx.print(`\nAPI key ${escapeText(name)}, which is shown only now:\n${key}`);
  }
  return EXIT.done;
}

const SIGNS: Readonly<Record<string, string>> = { created: "+", removed: "-", revoked: "-" };

function printChanges({ print, style }: CommandContext, { changes }: Applied): void {
  for (const { action, kind, name, before, after } of changes) {
    const sign = SIGNS[action] ?? "~";
    const paint = sign === "+" ? style.green : sign === "-" ? style.red : style.yellow;
    print(paint(escapeText(`${sign} ${kind} ${name}${sign === "~" ? "" : ` (${action})`}`)));
    if (sign === "-") continue;
    for (const [field, value] of Object.entries(after ?? {})) {
      if (field === "name" || (before === null && (value === null || isEmpty(value)))) continue;
      const old = before === null ? "" : `${JSON.stringify(before[field])} → `;
      print(escapeText(`    ${field}: ${old}${JSON.stringify(value)}`));
    }
  }
}

const isEmpty = (value: unknown) => typeof value === "object" && Object.keys(value ?? {}).length === 0;

/** A file of definitions, and the errors about it. */
interface DefinitionsFile {
  body: Definitions & { label: string };
  /** Returns an error of the API with the line that it is about. */
  located(error: unknown): unknown;
}

/**
 * Reads a file of definitions.
 *
 * @throws {PurserError} `invalid`, naming the line
 */
async function readDefinitions(path: string): Promise<DefinitionsFile> {
  const refuse = (reason: string) =>
    new PurserError("invalid", `Cannot apply ${path}: ${reason}; nothing was changed`);
  let text: string;
  try {
    text = await readTextFile(path);
  } catch (error) {
    throw refuse(error instanceof PurserError ? messageOf(error) : systemReason(error));
  }
  const written = parseJsonc(text, refuse);
  // The schemas need it to be loaded, which a bundle leaves to its first use.
  await import("@hono/zod-openapi");
  const { Definitions, FIELDS, SECTIONS } = await import("../../../contract/definitions/definitions.ts");
  const atLine = (path: readonly (string | number)[], message: string) =>
    refuse(`line ${lineOfPath(text, path)}: ${formatPath(path) || "the file"}: ${message}`);
  const result = Definitions.safeParse(written);
  if (!result.success) {
    // A misspelled field is also a missing one.
    const issue = result.error.issues.find(({ code }) => code === "unrecognized_keys") ??
      result.error.issues[0]!;
    const path = issue.path as (string | number)[];
    if (issue.code !== "unrecognized_keys") {
      const { plainMessage } = await import("../../../contract/issue_message.ts");
      throw atLine(path, plainMessage(issue));
    }
    const known = path.length === 0 ? ["label", ...SECTIONS] : FIELDS[path[0] as keyof typeof FIELDS] ?? [];
    const near = nearestName(issue.keys[0]!, known);
    throw atLine([...path, issue.keys[0]!], `is not known${near ? `; did you mean ${near}?` : ""}`);
  }
  const label = result.data.label ?? basename(path);
  return {
    body: { ...result.data, label },
    located(error) {
      if (!(error instanceof PurserError)) return error;
      const { issues } = (error.details ?? {}) as { issues?: unknown };
      const issue = Array.isArray(issues) ? issues[0] : undefined;
      if (!isRecord(issue) || typeof issue.path !== "string") return error;
      const path = (issue.path.match(/[^.[\]]+/g) ?? []).map((part) =>
        /^\d+$/.test(part) ? Number(part) : part
      );
      return atLine(path, String(issue.message));
    },
  };
}
