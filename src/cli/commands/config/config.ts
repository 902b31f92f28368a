import { type Config, readKeyFile, SETTING_ROWS } from "../../../config/mod.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { systemReason } from "../../../kernel/system_errors.ts";
import { type BareContext, type Command, type CommandContext, type OpenContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { countOf } from "../../../kernel/counts.ts";
import { renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** `purser config check` */
const configCheck: Command = {
  name: "config check",
  args: [],
  summary: "Check the config file, and name each fault",
  detail:
    "Reads the config file, the profiles and the variables as every command does, and looks for the files that they name. " +
    "It opens no database and sends nothing: purser doctor also checks what the settings reach. Exit code 1 with a fault.",
  options: {},
  examples: [["purser config check", ""], [
    "purser config check --config ./purser.json",
    "Before it is deployed",
  ]],
  runWithoutConfig: checkConfig,
};

async function checkConfig(ctx: BareContext, open: OpenContext): Promise<number> {
  let path: string | null = null;
  let faults: string[];
  try {
    await using opened = await open();
    path = opened.config.configPath ?? null;
    faults = await findFaults(opened.config);
  } catch (error) {
    const cause = (error as Error).cause;
    const { issues } = cause instanceof PurserError ? cause.details ?? {} : {};
    faults = Array.isArray(issues) ? issues : [messageOf(error)];
    if (Array.isArray(issues)) path = / the config file (.*?): /.exec(messageOf(error))?.[1] ?? null;
  }
  if (ctx.isJson) ctx.print(JSON.stringify({ config_path: path, faults }));
  else {
    const name = escapeText(path ?? "the settings");
    for (const fault of faults) ctx.print(escapeText(fault));
    if (faults.length > 0) ctx.print(`${countOf(faults.length, "fault")} in ${name}`);
    else {ctx.print(
        path === null ? "No config file is used, and the variables are valid" : `${name} is valid`,
      );}
  }
  return faults.length > 0 ? EXIT.failed : EXIT.done;
}

/** Finds what a valid config names and isn't there. */
async function findFaults({ tools, plugins, apiKeyFile }: Config): Promise<string[]> {
  const { stat } = await import("node:fs/promises");
  const modules = [...tools.map((file) => ["tools", file]), ...plugins.map((file) => ["plugins", file])];
  const faults = await Promise.all(
    modules.map(([key, file]) =>
      stat(file!).then(() => [], (error) => `${key}: ${file}: ${systemReason(error)}; correct its path`)
    ),
  );
  const ofKey = apiKeyFile === undefined ? [] : readKeyFile(apiKeyFile, () => {}).then(() => [], messageOf);
  return [...faults, await ofKey].flat();
}

/** A setting in effect. */
interface Shown {
  setting: string;
  /** Secrets are only said to be set. */
  value: string;
  source: string;
}

/** `purser config show` */
const configShow: Command = {
  name: "config show",
  args: [],
  summary: "Show the settings in effect, and their sources",
  detail:
    "Each setting with its value and what has set it: an option of the line, a variable, a profile, the config file, or " +
    "nothing, then it is the default. Keys and tokens are shown as set, never their values.",
  options: {},
  examples: [["purser config show", ""], ["purser config show --profile prod", ""]],
  run: showConfig,
};

function showConfig(ctx: CommandContext): Promise<void> {
  const shown = settingsOf(ctx).map((each) => ({ ...each, value: ctx.secrets.scrub(each.value) }));
  if (ctx.isJson) ctx.print(JSON.stringify(shown));
  else {
    ctx.print(renderTable(shown, [
      { title: "SETTING", cell: ({ setting }) => setting, paint: (_, style) => style.bold },
      { title: "VALUE", cell: ({ value }) => value, cutTo: 16 },
      { title: "SOURCE", cell: ({ source }) => source, cutTo: 12 },
    ], ctx.layout));
  }
  return Promise.resolve();
}

const OF_PROVIDERS = /^(?:OPENAI|ANTHROPIC|GOOGLE_GENERATIVE_AI)_(?:API_KEY|BASE_URL)$/;

function settingsOf({ config, env }: CommandContext): Shown[] {
  const file = config.configPath ?? "PURSER_CONFIG_JSON";
  const target = config.server ?? config.dbUrl;
  const source = config.server === undefined ? config.dbSource ?? "default" : config.serverSource!;
  const secrets = { api_key: config.apiKey ?? config.apiKeyFile, db_token: config.dbToken };
  const variables = Object.keys(env).filter((name) => env[name] && OF_PROVIDERS.test(name)).sort();
  const lists = {
    providers: Object.keys(config.providers),
    prices: config.prices.map(({ provider, model }) => `${provider}:${model}`),
    channels: config.channels.map(({ name, kind }) => `${name} (${kind})`),
    tools: config.tools,
    plugins: config.plugins,
    allow_private_networks: config.allowPrivateNetworks,
    trusted_proxies: config.trustedProxies,
    profiles: config.profile === undefined ? ["none in use"] : [`${config.profile} in use`],
    limits: Object.entries({ ...config.limits, ...config.requestLimits }).map((limit) => limit.join(" ")),
  };
  return [
    { setting: config.server === undefined ? "db" : "server", value: target, source },
    ...Object.entries(secrets).flatMap(([setting, secret]) =>
      secret
        ? { setting, value: "set", source: Object.values(env).includes(secret) ? "a variable" : file }
        : []
    ),
    ...SETTING_ROWS.map(({ name, key, variable, hasVariable }) => {
      const isInFile = config.fileKeys?.includes(key);
      const source = hasVariable && env[variable] ? variable : isInFile ? file : "default";
      return { setting: key, value: String(config[name]), source };
    }),
    ...variables.map((setting) => ({ setting, value: "set", source: "environment" })),
    ...Object.entries(lists).flatMap(([setting, values]) =>
      config.fileKeys?.includes(setting) ? { setting, value: values.join(", "), source: file } : []
    ),
  ];
}

/** `purser config check|show` */
export const CONFIG_COMMANDS: readonly Command[] = [configCheck, configShow];
