import { currentPlatform } from "../../../config/mod.ts";
import type { FoundLogs, ImportTally } from "../../../ingest/import/mod.ts";
import type { LogImporter, Machine } from "../../../ingest/logs/mod.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { files } from "../../../kernel/files/files.ts";
import { type Command, type CommandContext, flag, option, repeatedArg } from "../../command.ts";
import { parseSince } from "../../parse/parse_time.ts";
import { UsageError } from "../../parse/usage_error.ts";

/** The names of the built-in importers, for completion: their registry is loaded by the command's body. */
export const BUILT_IN = [
  "claude-code",
  "cline",
  "codex",
  "gemini-cli",
  "kilo",
  "langfuse",
  "litellm",
  "opencode",
  "pi",
  "qwen-code",
  "roo",
];

/** `purser import [NAME…]` */
export const importCommand: Command = {
  name: "import",
  args: [repeatedArg("NAME", { some: BUILT_IN })],
  summary: "Book the calls in logs of agents, LiteLLM, Langfuse",
  detail:
    "Without NAME: all agents whose logs are found. A call is booked once, also if others have seen it, and each import goes on " +
    "where the last one has stopped. Of the logs only counts and names are taken, no text. litellm and langfuse are read from " +
    "exports (--file) or their API (--url), with the key in LITELLM_PROXY_API_KEY, or in LANGFUSE_PUBLIC_KEY and " +
    "LANGFUSE_SECRET_KEY. With --server, calls go to that server; its key needs the scope report.",
  options: {
    path: option("PATH", "Folder or file to read in place of the agents' own folders", { isFile: true }),
    file: option("FILE", "An export of litellm or langfuse, or a folder of them", { isFile: true }),
    url: option("URL", "Address of litellm or langfuse, whose API is read"),
    "key-file": option("FILE", "With --url: file with its key, or PUBLIC:SECRET of langfuse", {
      isFile: true,
    }),
    since: option("WHEN", "Only calls since WHEN", { some: ["7d", "30d", "today", "week", "month"] }),
    machine: option("NAME", "Name of the machine of these logs (default: the host's name)"),
    plan: flag("A plan pays for all of these calls; without --watch, those imported as billed are corrected"),
    "dry-run": flag("Show what would be booked, and book nothing"),
    watch: flag("Follow the logs until Ctrl-C"),
    install: flag(
      "With --watch: write the service that does it (systemd or launchd), and show how to start it",
    ),
  },
  examples: [
    ["purser import", "All agents of this machine"],
    [
      "purser import claude-code --since month --dry-run",
      "What Claude Code's calls of this month would cost",
    ],
    ["purser import litellm --url https://litellm.example.com", "All calls in LiteLLM's spend logs"],
    ["purser import langfuse --file observations.jsonl", "The calls of an export"],
    ["purser import --watch --server https://purser.example.com", "Into a server, as the logs are written"],
  ],
  run: runImport,
};

/** An agent with the logs that were found. */
export interface FoundAgent {
  importer: LogImporter;
  found: FoundLogs;
}

/** An agent with the outcome of its import. */
export interface ImportedAgent extends FoundAgent {
  tally: ImportTally;
}

/** The importers, the machine and the span that the options name. */
export interface ImportRequest {
  importers: readonly LogImporter[];
  machine: Machine;
  machineName: string;
  path: string | undefined;
  /** Milliseconds since the epoch. */
  since: number | undefined;
  /** True if a plan pays for the calls. */
  isPlan: boolean;
}

const ABOUT_DRY_RUN =
  "A dry run doesn't look at the calls of the ledger: those that others have booked, such as the gateway, are known to an import";
const ABOUT_DRY_PLAN = "; those of earlier imports, which --plan corrects, are not shown";

async function runImport(ctx: CommandContext): Promise<number | void> {
  const { options, isJson } = ctx;
  checkTogether(ctx);
  const request = await readRequest(ctx);
  if (options.has("install")) return await (await import("./install_watch.ts")).installWatch(ctx, request);
  const { findAgents } = await import("./find_agents.ts");
  const { renderFound, renderImport, toWire } = await import("./render_import.ts");
  const url = options.text("url");
  const api = url === undefined
    ? undefined
    : await (await import("./open_api.ts")).openApi(ctx, request, url);
  const { agents, unreadable } = api
    ? { agents: [api.agent], unreadable: [] }
    : await findAgents(request, ctx.args.length > 0);
  if (!isJson) { for (const { path, reason } of unreadable) ctx.warn(`Cannot read ${path}: ${reason}`); }
  if (agents.length === 0 && !options.has("watch")) {
    if (isJson) ctx.print(JSON.stringify({ machine: request.machineName, agents: [], unreadable }));
    else ctx.print(`No logs found of ${request.importers.map(({ title }) => title).join(", ")}`);
    return;
  }
  if (!isJson && !api) ctx.print(renderFound(agents, request.machine.home));
  if (options.has("watch")) return await (await import("./watch_import.ts")).watchImport(ctx, request);
  const { openImport } = await import("./open_import.ts");
  const isDryRun = options.has("dry-run");
  await using opened = await openImport(ctx, request, { isDryRun, isAgain: request.isPlan && !isDryRun });
  const total = agents.reduce(
    (sum, { found }) => sum + found.logs.reduce((sum, { size }) => sum + size, 0),
    0,
  );
  const { createProgress } = await import("../../terminal/progress.ts");
  const progress = createProgress(ctx, { label: "Importing", total, unit: "bytes" });
  const imported: ImportedAgent[] = [];
  let doneBytes = 0;
  try {
    for (const agent of agents) {
      const before = doneBytes;
      const tally = await opened.importAgent(agent, {
        since: request.since,
        onFile: (done) => progress.reach(before + done),
      });
      doneBytes += tally.bytes;
      imported.push({ ...agent, tally });
    }
  } catch (error) {
    progress.end();
    if (!isJson && imported.length > 0) ctx.print(renderImport(ctx, imported, isDryRun));
    if (!isJson) ctx.say("What was booked stays; repeat the import to book the rest");
    throw error;
  }
  progress.end();
  ctx.print(
    isJson ? JSON.stringify(toWire(request, imported, isDryRun)) : renderImport(ctx, imported, isDryRun),
  );
  if (api?.failure) {
    if (!isJson) ctx.say("What was read is booked; the same command goes on from there");
    throw api.failure;
  }
  const isLeftOut = options.has("file") &&
    imported.every(({ tally }) => tally.malformed > 0 && isNothing(tally));
  if (isJson || isLeftOut) return isLeftOut ? 1 : undefined;
  for (const { tally } of imported) {
    for (const { path, reason } of tally.unreadable) ctx.warn(`Cannot read ${path}: ${reason}`);
  }
  ctx.say(
    isDryRun ? ABOUT_DRY_RUN + (request.isPlan ? ABOUT_DRY_PLAN : "") : "Next: purser cost --by project",
  );
}

const isNothing = ({ booked, known, unmetered, before, ahead }: ImportTally) =>
  booked + known + unmetered + before + ahead === 0;

function checkTogether({ options }: CommandContext): void {
  const refuse = (name: string, why: string) => {
    throw new UsageError(`Cannot use --${name}: ${why}`, options.command);
  };
  if (options.has("install") && !options.has("watch")) refuse("install", "it is for --watch");
  if (options.has("key-file") && !options.has("url")) refuse("key-file", "it is for --url");
  const [place, second] = ["path", "file", "url"].filter((name) => options.has(name));
  if (second !== undefined) refuse(second, `--${place} says where the calls are`);
  if (options.has("watch") && options.has("url")) refuse("watch", "it follows files; repeat the import");
  for (const name of ["dry-run", "since"]) {
    if (options.has("watch") && options.has(name)) refuse(name, "--watch books all that is new");
  }
}

async function readRequest(
  { args, options, env, clock, config, warn }: CommandContext,
): Promise<ImportRequest> {
  const names = args.length > 0 ? [...new Set(args)] : undefined;
  const { loadImporters } = await import("../../../ingest/logs/mod.ts");
  const { checkMachine, hostName } = await import("./host_name.ts");
  const importers = await loadImporters({ names, plugins: config.plugins }).catch((error) => {
    throw names === undefined
      ? error
      : new UsageError(`Cannot import: ${messageOf(error)}`, options.command, error);
  });
  for (const name of names === undefined ? config.importPlans ?? [] : []) {
    if (importers.some((importer) => importer.name === name)) continue;
    warn(`import.plans of the config names ${name}, which is no agent`);
  }
  const home = env.HOME || env.USERPROFILE;
  const path = options.text("path") ?? options.text("file");
  if (!home && path === undefined && !options.has("url")) {
    throw new PurserError("invalid", "Cannot find logs: there is no home folder; set HOME, or give --path");
  }
  const since = options.read("since", (text) => parseSince(text, clock.now()));
  const machine: Machine = {
    os: currentPlatform(),
    home: home || "/",
    env: (name) => env[name] || undefined,
  };
  return {
    // The exports of tools lie in no folder of their own, and may have any name: they are read by the name of their importer only.
    importers: importers.filter((one) => names !== undefined || one.roots(machine).length > 0),
    machine,
    machineName: options.read("machine", checkMachine) ?? await hostName(),
    path: path === undefined ? undefined : await absolute(path),
    since: since === undefined ? undefined : Date.parse(since),
    isPlan: options.has("plan"),
  };
}

/** Returns a path as one from the root: imports from other folders know a file by it. */
async function absolute(path: string): Promise<string> {
  try {
    return await files.realPath(path);
  } catch (cause) {
    const { systemReason } = await import("../../../kernel/system_errors.ts");
    throw new PurserError("not_found", `Cannot import from ${path}: ${systemReason(cause)}`, { cause });
  }
}
