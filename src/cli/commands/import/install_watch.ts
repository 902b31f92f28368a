import { PurserError } from "../../../kernel/errors.ts";
import { replaceFile } from "../../../kernel/files/replace_file.ts";
import type { CommandContext } from "../../command.ts";
import { quoteForShell } from "../../../kernel/quote_for_shell.ts";
import { ledgerOptions } from "../ledger_options.ts";
import type { ImportRequest } from "./import.ts";

/** A service of the user: what it runs, and the variables by which its agents' folders are found. */
export interface WatchService {
  command: readonly string[];
  variables: Readonly<Record<string, string>>;
}

/** A system that starts services of a user. */
interface ServiceManager {
  /** Returns the file of the service. */
  fileOf(home: string, configHome: string | undefined): string;
  render(service: WatchService): string;
  /** The command that starts it now and at every login. */
  enable(file: string): string;
}

const NAME = "purser-import";
const LABEL = "dev.purser.import";

/** https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html and `man launchd.plist`. */
const MANAGERS: Readonly<Record<"linux" | "darwin", ServiceManager>> = {
  linux: {
    fileOf: (home, configHome) => `${configHome ?? `${home}/.config`}/systemd/user/${NAME}.service`,
    render: ({ command, variables }) =>
      [
        "[Unit]",
        "Description=Purser: import what coding agents have cost",
        "",
        "[Service]",
        ...Object.entries(variables).map(([name, value]) =>
          `Environment=${quoteForSystemd(`${name}=${value}`)}`
        ),
        `ExecStart=${command.map((word) => quoteForSystemd(word).replaceAll("$", "$$$$")).join(" ")}`,
        "Restart=on-failure",
        "RestartSec=30",
        "SuccessExitStatus=130",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
      ].join("\n"),
    enable: () => `systemctl --user enable --now ${NAME}.service`,
  },
  darwin: {
    fileOf: (home) => `${home}/Library/LaunchAgents/${LABEL}.plist`,
    render: ({ command, variables }) =>
      [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
        '<plist version="1.0">',
        "<dict>",
        `  <key>Label</key><string>${LABEL}</string>`,
        "  <key>ProgramArguments</key>",
        "  <array>",
        ...command.map((word) => `    <string>${escapeXml(word)}</string>`),
        "  </array>",
        "  <key>EnvironmentVariables</key>",
        "  <dict>",
        ...Object.entries(variables).map(([name, value]) =>
          `    <key>${escapeXml(name)}</key><string>${escapeXml(value)}</string>`
        ),
        "  </dict>",
        "  <key>RunAtLoad</key><true/>",
        "  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>",
        "  <key>ThrottleInterval</key><integer>30</integer>",
        "</dict>",
        "</plist>",
        "",
      ].join("\n"),
    enable: (file) => `launchctl bootstrap gui/$(id -u) ${quoteForShell(file)}`,
  },
};

/** `purser import --watch --install`: writes the service and says how to start it; starting it is the user's decision. */
export async function installWatch(ctx: CommandContext, request: ImportRequest): Promise<void> {
  const { env, isJson, options, config: { server } } = ctx;
  const { os, home } = request.machine;
  if (os === "windows") {
    throw new PurserError(
      "invalid",
      "Cannot install a service on Windows: let its Task Scheduler start purser import --watch at logon",
    );
  }
  const manager = MANAGERS[os];
  const file = manager.fileOf(home, env.XDG_CONFIG_HOME || undefined);
  const content = manager.render({ command: await commandOf(ctx, request), variables: variablesOf(request) });
  await replaceFile(file, content);
  const enable = manager.enable(file);
  if (isJson) return ctx.print(JSON.stringify({ file, content, enable }));
  ctx.print(`${content}\nWrote ${file}. To start it now and at every login:\n\n  ${enable}`);
  if (server !== undefined && (options.has("api-key") || env.PURSER_API_KEY)) {
    ctx.warn(
      "the service has no API key: write the key into a file, add a profile with it (purser profiles add --help), and " +
        "install with --profile",
    );
  }
}

/** Returns the command line of the service: it names the ledger, which the environment may have chosen. */
async function commandOf(
  ctx: CommandContext,
  { machineName, path, isPlan }: ImportRequest,
): Promise<string[]> {
  const { terminal, args } = ctx;
  return [
    ...terminal.command?.() ?? ["purser"],
    "import",
    ...args,
    "--watch",
    ...["--machine", machineName],
    ...path === undefined ? [] : ["--path", path],
    ...isPlan ? ["--plan"] : [],
    ...await ledgerOptions(ctx),
  ];
}

/** Returns the variables that say where the agents keep their logs. */
function variablesOf({ importers, machine }: ImportRequest): Record<string, string> {
  const variables: Record<string, string> = {};
  const env = (name: string) => {
    const value = machine.env(name);
    if (value !== undefined) variables[name] = value;
    return value;
  };
  for (const importer of importers) importer.roots({ ...machine, env });
  return variables;
}

/** Quotes a word for a line of a unit, where `%` begins a specifier. */
function quoteForSystemd(word: string): string {
  const escaped = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll("\n", "\\n")}"`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
