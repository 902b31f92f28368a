import type { Connection, ConnectOptions } from "../client/mod.ts";
import { systemClock } from "../kernel/clock.ts";
import { isRecord } from "../kernel/records.ts";
import {
  createJsonLog,
  type Log,
  LOG_LEVELS,
  type LogFields,
  type LogFormat,
  type LogLevel,
} from "../kernel/log.ts";
import { type Config, loadConfig, secretsOf, SETTING_ROWS } from "../config/mod.ts";
import { createSecrets } from "../redaction/values/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import type { BareContext, CommandContext, OpenContext } from "./command.ts";
import { escapeText } from "./terminal/escape_text.ts";
import { EXIT } from "./exit_code.ts";
import type { MainOptions } from "./mod.ts";
import type { Options } from "./parse/options.ts";
import type { CommandLine } from "./parse/parse_command_line.ts";
import { createStyle } from "./terminal/style.ts";
import type { Output } from "./terminal/terminal.ts";
import type { UpdateHint } from "./update_hint.ts";
import { UsageError } from "./parse/usage_error.ts";

/** Opens a connection to the API. */
export type Connect = (options: ConnectOptions) => Promise<Connection>;

/** Opens the connection of a command; the client is loaded only now. */
export async function openConnection(
  connect: Connect | undefined,
  options: ConnectOptions,
): Promise<Connection> {
  const open = connect ?? (await import("../client/mod.ts")).connect;
  return await open(options);
}

/** Runs a command with its configuration and connection, and closes the connection in every case. Returns the exit code. */
export async function runCommand(
  { command, args, options }: Extract<CommandLine, { kind: "command" }>,
  { terminal, env, connect, clock = systemClock, release, fetch, secrets = createSecrets() }: MainOptions,
): Promise<number> {
  const { stdout, stderr } = terminal;
  const isJson = options.has("json");
  const stderrStyle = createStyle(stderr.hasColour);
  const say = (line: string) => stderr.write(stderrStyle.dim(escapeText(line)) + "\n");
  const style = createStyle(stdout.hasColour);
  const bare: BareContext = {
    args,
    options,
    isJson,
    terminal,
    style,
    layout: { columns: stdout.columns, style, hasUnicode: terminal.hasUnicode },
    clock,
    env,
    print: (text) => stdout.write(text + "\n"),
    say,
    warn: (line) => stderr.write(`${stderrStyle.yellow("warning:")} ${escapeText(line)}\n`),
  };
  if (!isJson) {
    const name = `purser ${command.name}`;
    if (command.deprecated) say(`${name} is deprecated: write ${command.deprecated}`);
    for (const [option, { deprecated }] of Object.entries(command.options)) {
      if (deprecated && options.has(option)) say(`${name} --${option} is deprecated: write ${deprecated}`);
    }
  }

  async function open(): ReturnType<OpenContext> {
    const config = await readConfig(options, env, command.name);
    const { values, names } = secretsOf(config, env);
    secrets.add(values, names);
    const log = createCommandLog({
      level: config.logLevel,
      format: isJson && config.logFormat === "auto" ? "json" : config.logFormat,
      stderr,
    });
    let connection: Promise<Connection> | undefined;
    return {
      ...bare,
      config,
      secrets,
      log,
      connect: () =>
        connection ??= openConnection(connect, {
          config,
          env,
          log,
          secrets,
          isReadOnly: command.isReadOnly,
          mustExist: command.needsDatabase,
          needsNoDatabase: command.needsNoDatabase,
        }).then((opened) => {
          const { abandonRuns } = opened;
          if (abandonRuns) terminal.beforeForcedExit?.(abandonRuns);
          return opened;
        }),
      async [Symbol.asyncDispose]() {
        // The error of a connection that failed was thrown by the command.
        const opened = await connection?.catch(() => undefined);
        await opened?.close();
      },
    };
  }

  if (command.runWithoutConfig) return await command.runWithoutConfig(bare, open) ?? EXIT.done;
  await using ctx = await open();
  await using _hint = hintAtUpdate(ctx, { release, fetch });
  if (command.handlesInterrupt) return await command.run(ctx) ?? EXIT.done;
  return await Promise.race([command.run(ctx).then((code) => code ?? EXIT.done), untilInterrupted(ctx)]);
}

/**
 * Looks for a newer release beside a command, and names it after the command if it is known by then. Only people at a terminal
 * are told, and only of builds that are published; nothing is asked for scripts, CI and hooks.
 */
function hintAtUpdate(
  ctx: CommandContext,
  { release, fetch = globalThis.fetch }: Pick<MainOptions, "release" | "fetch">,
): AsyncDisposable {
  const { env, isJson, terminal: { stdout, stderr }, config: { updateCheck } } = ctx;
  const isAutomatic = [env.CI, env.BUILD_NUMBER, env.RUN_ID, env.NO_UPDATE_NOTIFIER].some(Boolean);
  const mayHint = stdout.isTerminal && stderr.isTerminal && !isJson && !isAutomatic && updateCheck !== "off";
  const ended = new AbortController();
  let hint: UpdateHint | undefined;
  if (release && mayHint) {
    void import("./update_hint.ts").then(({ findUpdate }) =>
      findUpdate({ ...ctx, release, fetch, signal: ended.signal, registry: updateCheck })
    ).then((found) => hint = found).catch(() => {}); // a command never fails for it
  }
  return {
    async [Symbol.asyncDispose]() {
      ended.abort();
      if (await hint?.remember()) ctx.say(hint!.text);
    },
  };
}

async function readConfig(options: Options, env: MainOptions["env"], command: string): Promise<Config> {
  const settings = Object.fromEntries(
    SETTING_ROWS.filter((row) => row.option).map((row) => {
      const { name, optionName, min = 1, max = Number.MAX_SAFE_INTEGER } = row;
      const isNumber = typeof row.default === "number";
      return [name, isNumber ? options.wholeNumber(optionName, { min, max }) : options.text(optionName)];
    }),
  );
  try {
    return await loadConfig({
      env,
      options: {
        configPath: options.text("config"),
        dbUrl: options.text("db"),
        server: options.text("server"),
        apiKey: options.text("api-key"),
        profile: options.text("profile"),
        ...settings,
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

/** Creates the log of a command: with the format `auto` sentences on a terminal, else JSON lines. */
export function createCommandLog(
  { level, format, stderr }: { level: LogLevel; format: LogFormat; stderr: Output },
): Log {
  if (format === "json" || (format === "auto" && !stderr.isTerminal)) {
    return createJsonLog({ level, now: systemClock.now, write: (line) => stderr.write(line + "\n") });
  }
  const style = createStyle(stderr.hasColour);
  const threshold = LOG_LEVELS.indexOf(level);
  const paints = { debug: style.dim, info: style.dim, warn: style.yellow, error: style.red };
  const line =
    (of: keyof typeof paints) => (message: string, { stack: _stack, ...fields }: LogFields = {}) => {
      if (LOG_LEVELS.indexOf(of) < threshold) return;
      // What is structured is left to the JSON log.
      const facts = Object.entries(fields).filter(([, value]) => !isRecord(value)).map(([name, value]) =>
        `${name}: ${factOf(value)}`
      ).join(", ");
      stderr.write(`${paints[of](`${of}:`)} ${escapeText(message)}${facts && style.dim(` (${facts})`)}\n`);
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

function factOf(value: unknown): string {
  return escapeText(typeof value === "string" ? value : JSON.stringify(value) ?? String(value));
}
