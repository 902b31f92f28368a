import type { Connection, ConnectOptions } from "../client/mod.ts";
import { systemClock } from "../kernel/clock.ts";
import { type Config, loadConfig } from "../config/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import type { BareContext, CommandContext } from "./command.ts";
import { createCommandLog } from "./command_log.ts";
import { escapeText } from "./terminal/escape_text.ts";
import { EXIT } from "./exit_code.ts";
import type { MainOptions } from "./main.ts";
import type { Options } from "./parse/options.ts";
import type { CommandLine } from "./parse/parse_command_line.ts";
import { createStyle } from "./terminal/style.ts";
import { UsageError } from "./parse/usage_error.ts";

/** How a command reaches the API. */
export type Connect = (options: ConnectOptions) => Promise<Connection>;

/** Runs a command: settles its settings, lends it a connection, and closes that in every case. */
export async function runCommand(
  { command, args, options }: Extract<CommandLine, { kind: "command" }>,
  { terminal, env, connect, clock = systemClock }: MainOptions,
): Promise<number> {
  const { stdout, stderr } = terminal;
  const isJson = options.has("json");
  const stderrStyle = createStyle(stderr.hasColour);
  const say = (line: string) => stderr.write(stderrStyle.dim(line) + "\n");
  const bare: BareContext = {
    args,
    options,
    isJson,
    terminal,
    style: createStyle(stdout.hasColour),
    clock,
    env,
    print: (text) => stdout.write(text + "\n"),
    say,
    warn: (line) => stderr.write(`${stderrStyle.yellow("warning:")} ${escapeText(line)}\n`),
  };
  if (command.loadBare) return await (await command.loadBare())(bare) ?? EXIT.done;

  const config = await settle(options, env, command.name);
  const log = createCommandLog({ level: config.logLevel, stderr, style: stderrStyle, isJson });
  let connection: Promise<Connection> | undefined;
  const ctx: CommandContext = {
    ...bare,
    config,
    log,
    connect: () =>
      connection ??= (async () => {
        const open = connect ?? (await import("../client/mod.ts")).connect;
        return await open({ config, env, log, isReadOnly: command.isReadOnly });
      })(),
  };
  const body = await command.load();
  try {
    if (command.handlesInterrupt) return await body(ctx) ?? EXIT.done;
    return await Promise.race([body(ctx).then((code) => code ?? EXIT.done), untilInterrupted(ctx)]);
  } finally {
    // A connection that could not be made has been told of already.
    const open = await connection?.catch(() => undefined);
    await open?.close();
  }
}

async function settle(options: Options, env: MainOptions["env"], command: string): Promise<Config> {
  const port = options.wholeNumber("port", { min: 0, max: 65_535 });
  try {
    return await loadConfig({
      env,
      options: {
        configPath: options.text("config"),
        dbUrl: options.text("db"),
        server: options.text("server"),
        apiKey: options.text("api-key"),
        profile: options.text("profile"),
        host: options.text("host"),
        port,
      },
      defaults: command === "serve" ? { logLevel: "info" } : {},
    });
  } catch (error) {
    if (error instanceof PurserError && error.code === "invalid") {
      throw new UsageError(messageOf(error), undefined, error);
    }
    throw error;
  }
}

async function untilInterrupted({ terminal: { interrupted } }: CommandContext): Promise<number> {
  if (!interrupted.aborted) {
    await new Promise((resolve) => interrupted.addEventListener("abort", resolve, { once: true }));
  }
  return EXIT.interrupted;
}
