import { currentPlatform, type Environment } from "../../../config/mod.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { quoteForShell } from "../../../kernel/quote_for_shell.ts";

/** A service of this user, or of the machine. */
export interface Service {
  /** The name of its unit, such as `purser-import`. */
  name: string;
  description: string;
  command: readonly string[];
  variables: Readonly<Record<string, string>>;
  /** The lines of `[Service]` in the unit, besides its command. */
  lines: readonly string[];
  isOfSystem?: boolean;
}

/** The file of a service, and the commands that start it, now and at each login, and end it. */
export interface ServiceFile {
  file: string;
  content: string;
  enable: string;
  disable: string;
}

/**
 * Returns the file of a service of systemd, or of launchd on macOS.
 *
 * @throws {PurserError} `invalid` where the system has no such service
 */
export function makeServiceFile(service: Service, env: Environment): ServiceFile {
  const os = currentPlatform();
  if (os === "linux") return makeUnit(service, env);
  if (os === "darwin" && !service.isOfSystem) return makePropertyList(service, env);
  const remedy = os === "darwin"
    ? "of the machine on macOS: leave out --system-wide"
    : "on Windows: let its Task Scheduler start the command at logon";
  throw new PurserError("invalid", `Cannot install a service ${remedy}`);
}

/** https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html */
function makeUnit({ name, description, command, variables, lines, isOfSystem }: Service, env: Environment) {
  const folder = env.XDG_CONFIG_HOME || `${env.HOME}/.config`;
  const systemctl = isOfSystem ? "systemctl" : "systemctl --user";
  const content = [
    "[Unit]",
    `Description=${description}`,
    ...isOfSystem ? ["Wants=network-online.target", "After=network-online.target"] : [],
    "",
    "[Service]",
    ...Object.entries(variables).map(([name, value]) => `Environment=${quoteForSystemd(`${name}=${value}`)}`),
    `ExecStart=${command.map((word) => quoteForSystemd(word).replaceAll("$", "$$$$")).join(" ")}`,
    "Restart=on-failure",
    ...lines,
    "",
    "[Install]",
    `WantedBy=${isOfSystem ? "multi-user" : "default"}.target`,
    "",
  ];
  return {
    file: `${isOfSystem ? "/etc/systemd/system" : `${folder}/systemd/user`}/${name}.service`,
    content: content.join("\n"),
    enable: `${systemctl} enable --now ${name}.service`,
    disable: `${systemctl} disable --now ${name}.service`,
  };
}

/** See `man launchd.plist`. */
function makePropertyList({ name, command, variables }: Service, env: Environment) {
  const label = `dev.${name.replace("-", ".")}`;
  const file = `${env.HOME}/Library/LaunchAgents/${label}.plist`;
  const content = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    "<dict>",
    `  <key>Label</key><string>${label}</string>`,
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
  ];
  return {
    file,
    content: content.join("\n"),
    enable: `launchctl bootstrap gui/$(id -u) ${quoteForShell(file)}`,
    disable: `launchctl bootout gui/$(id -u)/${label}`,
  };
}

/** Quotes a word for a line of a unit, where `%` begins a specifier. */
function quoteForSystemd(word: string): string {
  const escaped = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll("\n", "\\n")}"`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
