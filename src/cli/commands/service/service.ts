import { PurserError } from "../../../kernel/errors.ts";
import { type Command, type CommandContext, flag } from "../../command.ts";
import { ledgerOptions } from "../ledger_options.ts";
import type { Service } from "./service_files.ts";

const OPTIONS = { "system-wide": flag("A service of the machine, for root, not of this user") };

/** `purser service install [--system-wide] [--print]` */
const serviceInstall: Command = {
  name: "service install",
  args: [],
  summary: "Write a service that runs purser serve",
  detail:
    "Writes a unit of systemd, or a property list of launchd, and prints it with the command that starts it; nothing is " +
    "started. The service has the database and the config file of this command line. With --system-wide it runs as the user " +
    "purser over /var/lib/purser/purser.db, unless --db names another database.",
  options: { ...OPTIONS, print: flag("Print the file, and write nothing") },
  examples: [
    ["purser service install", "For this user"],
    ["sudo purser service install --system-wide", "For the machine"],
  ],
  run: async (ctx) => installService(ctx, await serverOf(ctx)),
};

/** `purser service uninstall [--system-wide]` */
const serviceUninstall: Command = {
  name: "service uninstall",
  args: [],
  summary: "Remove the file of that service",
  detail: "Removes the file, and prints the command that ends the service. The database stays.",
  options: OPTIONS,
  examples: [["purser service uninstall", ""]],
  run: uninstallService,
};

/** `purser service install|uninstall` */
export const SERVICE_COMMANDS: readonly Command[] = [serviceInstall, serviceUninstall];

/** Writes the file of a service, prints it, and says how to start it. */
export async function installService(ctx: CommandContext, service: Service): Promise<void> {
  const { makeServiceFile } = await import("./service_files.ts");
  const { replaceFile } = await import("../../../kernel/files/replace_file.ts");
  const { file, content, enable } = makeServiceFile(service, ctx.env);
  const isPrinted = ctx.options.has("print");
  if (!isPrinted) await replaceFile(file, content);
  if (ctx.isJson) return ctx.print(JSON.stringify({ file, content, enable }));
  const when = service.isOfSystem ? "start of the machine" : "login";
  ctx.print(
    isPrinted
      ? content.trimEnd()
      : `${content}\nWrote ${file}. To start it now and at every ${when}:\n\n  ${enable}`,
  );
}

async function uninstallService(ctx: CommandContext): Promise<void> {
  const { makeServiceFile } = await import("./service_files.ts");
  const { file, disable } = makeServiceFile(await serverOf(ctx), ctx.env);
  const { rm } = await import("node:fs/promises");
  try {
    await rm(file);
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOENT") throw error;
    throw new PurserError("not_found", `Cannot remove ${file}: there is no such file`);
  }
  if (!ctx.isJson) ctx.print(`Removed ${file}. If the service runs, end it:\n\n  ${disable}`);
}

/** The unit of the machine's service. Not MemoryDenyWriteExecute: V8 compiles at run time. */
const OF_SYSTEM = `User=purser
EnvironmentFile=-/etc/purser/environment
StateDirectory=purser
StateDirectoryMode=0700
CacheDirectory=purser
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
PrivateTmp=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectHome=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native`.split("\n");

async function serverOf(ctx: CommandContext): Promise<Service> {
  const { options, terminal } = ctx;
  const isOfSystem = options.has("system-wide");
  return {
    name: "purser",
    description: "Purser, budgets and a ledger for LLM agents",
    command: [...terminal.command?.() ?? ["purser"], "serve", ...await ledgerOptions(ctx)],
    isOfSystem,
    variables: isOfSystem
      ? {
        ...!options.has("db") && { PURSER_DB: "/var/lib/purser/purser.db" },
        ...{ XDG_DATA_HOME: "/var/lib", XDG_CONFIG_HOME: "/etc", DENO_DIR: "/var/cache/purser" },
      }
      : {},
    lines: [
      "RestartSec=2",
      "TimeoutStopSec=20", // longer than a shutdown takes, unless limits.shutdown_seconds says otherwise
      ...isOfSystem ? OF_SYSTEM : ["EnvironmentFile=-%h/.config/purser/environment"],
    ],
  };
}
