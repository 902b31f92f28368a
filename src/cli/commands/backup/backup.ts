import { type DatabaseAddress, parseDatabaseUrl } from "../../../kernel/database_url.ts";
import { nameUncounted } from "../../../kernel/counts.ts";
import { toUsd } from "../../../kernel/money.ts";
import { toIso } from "../../../kernel/clock.ts";
import type { BackupOptions, Verified } from "../../../store/backup/mod.ts";
import { type Command, type CommandContext, flag, option } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { formatCost } from "../../render/format_cost.ts";
import { countOf, formatBytes, formatTime } from "../../render/format_values.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** `purser backup --to FILE|DIR` */
export const backup: Command = {
  name: "backup",
  args: [],
  summary: "Copy the whole database to one file",
  detail:
    "Copies a file, or a database in PostgreSQL or on a libSQL server, while it is in use, and verifies the copy: it is sound, " +
    "and has the same calls and costs. The file appears whole or not at all, is readable by you only, and can be used as a database. A folder " +
    "gets a file named after the database and the time.",
  options: { to: option("FILE|DIR", "New file to write, or a folder for it", { isFile: true }) },
  examples: [
    ["purser backup --to books-backup.db", ""],
    [
      "purser backup --db http://default.sqld:8080 --to /var/backups/purser/",
      "For a timer: a new name each time",
    ],
  ],
  handlesInterrupt: true,
  run: (ctx) => untilInterrupted(ctx, backUpDatabase),
};

async function backUpDatabase(ctx: CommandContext): Promise<void> {
  const to = readPath(ctx, "to", "back up", "give a file or a folder");
  const options = backupOptions(ctx, "back up");
  const { backUp } = await import("../../../store/backup/mod.ts");
  const done = await backUp({ ...options, to });
  await warnOfSpooledCalls(ctx, options.database);
  const { file, bytes } = done;
  ctx.print(
    ctx.isJson
      ? JSON.stringify({ file, bytes, ...toWire(done) })
      : `Backed up ${escapeText(nameOf(options.database))} to ${escapeText(file)}: ${describe(done)}; ` +
        `${formatBytes(bytes)}, verified`,
  );
}

/** `purser restore --from FILE [--replace]` */
export const restore: Command = {
  name: "restore",
  args: [],
  summary: "Make the database from a backup",
  detail:
    "Verifies the backup, makes the database of --db, or of the settings, from it, and verifies that. A backup of any kind of " +
    "database can be restored to any other. A file, and a database in PostgreSQL, is made whole or not at all. A database that has content is replaced only with --replace, while no other process uses it; a file is then " +
    "kept beside the new one.",
  options: {
    from: option("FILE", "Backup to restore", { isFile: true }),
    replace: flag("Also replace a database that has content"),
  },
  examples: [
    ["purser restore --from books-backup.db --db books-again.db", "Into a new database"],
    ["purser restore --from books-backup.db --replace", "In place of the database of the settings"],
    ["purser restore --from books-backup.db --db postgres://purser@db/purser", "From a file to PostgreSQL"],
  ],
  handlesInterrupt: true,
  run: (ctx) => untilInterrupted(ctx, restoreDatabase),
};

async function restoreDatabase(ctx: CommandContext): Promise<void> {
  const from = readPath(ctx, "from", "restore", "give the file of a backup");
  const options = backupOptions(ctx, "restore");
  const { restore } = await import("../../../store/backup/mod.ts");
  const done = await restore({ ...options, from, mayReplace: ctx.options.has("replace") });
  const database = nameOf(options.database);
  const { keptAs } = done;
  ctx.print(
    ctx.isJson
      ? JSON.stringify({ database, kept_as: keptAs, ...toWire(done) })
      : `Restored ${escapeText(database)} from ${escapeText(from)}: ${describe(done)}; verified` +
        (keptAs === null ? "" : `\nThe replaced database is kept as ${escapeText(keptAs)}`),
  );
}

async function untilInterrupted(ctx: CommandContext, work: (ctx: CommandContext) => Promise<void>) {
  try {
    await work(ctx);
    return EXIT.done;
  } catch (error) {
    if (ctx.terminal.interrupted.aborted) return EXIT.interrupted;
    throw error;
  }
}

function readPath({ options }: CommandContext, name: string, action: string, remedy: string): string {
  const path = options.text(name);
  if (path) return path;
  throw new UsageError(
    `Cannot ${action}: --${name} is ${path === "" ? "empty" : "missing"}; ${remedy}`,
    options.command,
  );
}

function backupOptions({ config, options, clock, terminal }: CommandContext, action: string): BackupOptions {
  if (config.server !== undefined) {
    throw new UsageError(
      `Cannot ${action} the database of a server from here: run purser ${options.command} on its machine, without ` +
        (config.profile === undefined ? "--server and PURSER_SERVER" : `the profile ${config.profile}`),
      options.command,
    );
  }
  const database = parseDatabaseUrl(config.dbUrl);
  if (database.kind === "memory") {
    throw new UsageError(
      `Cannot ${action} a database in memory: no other process has it; name another one by --db`,
      options.command,
    );
  }
  const { dbToken: authToken, remoteTimeoutMs } = config;
  return { database, authToken, remoteTimeoutMs, clock, signal: terminal.interrupted };
}

type Kept = Exclude<DatabaseAddress, { kind: "memory" }>;

/** Names a database without a secret. */
function nameOf(database: Kept): string {
  if (database.kind === "file") return database.path;
  const { host, pathname, searchParams } = new URL(database.url);
  const schema = searchParams.get("schema");
  return host + pathname.replace(/\/$/, "") + (schema === null ? "" : `?schema=${schema}`);
}

/** Warns of calls that dead processes have left in the spool: they are no part of the database yet. */
async function warnOfSpooledCalls({ config, log, warn }: CommandContext, database: Kept): Promise<void> {
  const { openCallSpool } = await import("../../../calls/spool/mod.ts");
  const spool = await openCallSpool({
    database,
    folder: config.spoolFolder,
    log,
    scrub: (text) => text,
    readLedger: () => Promise.resolve(null),
  });
  const left = await spool.readLeft();
  await spool.close();
  const calls = left.reduce((sum, each) => sum + each.calls.length, 0);
  if (calls > 0) {
    warn(`${countOf(calls, "call")} not in the backup: in ${spool.folder}, to be booked by the next process`);
  }
}

function toWire({ schemaVersion, sums }: Verified) {
  return {
    schema_version: schemaVersion,
    calls: Number(sums.calls),
    unpriced_calls: Number(sums.unpricedCalls),
    cost_usd: costOf(sums),
    newest_call_at: sums.newestCallAt === null ? null : toIso(sums.newestCallAt),
  };
}

/** Returns null, never 0, where no call has a known price. */
function costOf({ calls, unpricedCalls, costNanoUsd }: Verified["sums"]): number | null {
  return calls > 0n && calls === unpricedCalls ? null : toUsd(costNanoUsd);
}

function describe({ sums }: Verified): string {
  const { calls, unpricedCalls, newestCallAt } = sums;
  if (newestCallAt === null) return "no calls";
  const uncounted = nameUncounted({ unpriced: Number(unpricedCalls), partlyPriced: 0 });
  return `${countOf(Number(calls), "call")}, ${formatCost(costOf(sums))}` +
    (uncounted && costOf(sums) !== null ? ` (${uncounted})` : "") +
    `, the newest at ${formatTime(toIso(newestCallAt))} UTC`;
}
