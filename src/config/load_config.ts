import { REQUEST_LIMITS } from "../contract/limits.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import type { ConfigFile } from "./file/parse_config_file.ts";
import { PurserError } from "../kernel/errors.ts";
import { systemCodeOf, systemReason } from "../kernel/system_errors.ts";
import { withoutUndefined } from "../kernel/records.ts";
import { toCamelCase } from "../kernel/text.ts";
import { readTextFile } from "../kernel/files/read_text_file.ts";
import { chooseTarget } from "./choose_target.ts";
import { nameChannels } from "./channels.ts";
import { readConfigText } from "./file/read_config_text.ts";
import type { ProfilesFile } from "./profiles_file.ts";
import {
  currentPlatform,
  type Environment,
  findConfigFile,
  findDataFile,
  findPricesFolder,
  findSpoolFolder,
  type Platform,
} from "./environment.ts";
import type { BillSetting, Config, ConfigOptions, ProviderSettings } from "./config.ts";
import { readSettings, type Settings } from "./settings.ts";

/**
 * Resolves every setting: option > environment > profile > config file > default. A profile that is given as an option
 * has the precedence of an option. The config file is that of `--config`, `PURSER_CONFIG` or the user's config
 * directory, never of the working directory, because it can name code to load. `PURSER_CONFIG_JSON` holds the document
 * itself.
 *
 * @throws {PurserError} `invalid`, naming the option, the variable or the path in the file
 */
export async function loadConfig(input: {
  env: Environment;
  options?: ConfigOptions;
  /** Defaults that differ by entry point: a server logs more than a command. */
  defaults?: Partial<Settings>;
  readTextFile?: (path: string) => Promise<string>;
  platform?: Platform;
}): Promise<Config> {
  const { env, options = {}, defaults = {} } = input;
  const platform = input.platform ?? currentPlatform();
  const { path, isNamed } = locateConfig(env, options.configPath, platform);
  const inline = options.configPath ? undefined : env.PURSER_CONFIG_JSON || undefined;
  if (inline !== undefined && isNamed) {
    throw new PurserError(
      "invalid",
      "Cannot use PURSER_CONFIG_JSON together with PURSER_CONFIG: give one of them",
    );
  }
  const text = inline === undefined
    ? await readConfigText(path, isNamed, input.readTextFile ?? readTextFile)
    : { path: undefined, content: inline };
  let file: ConfigFile = {};
  let configPath: string | undefined;
  if (text) {
    // Lazy: without a config file, neither zod nor the JSONC parser is loaded.
    const { parseConfigFile } = await import("./file/parse_config_file.ts");
    ({ file, configPath } = parseConfigFile(text.content, {
      path: text.path,
      env,
      profile: options.profile ?? env.PURSER_PROFILE,
    }));
  }

  const { dbUrl, ...target } = chooseTarget({ options, env, file, configPath });
  const config: Config = {
    ...readSettings({ options, env, file, defaults }),
    dbUrl: dbUrl ?? findDataFile(env, platform) ?? "",
    ...target,
    // An empty key is none.
    providers: Object.fromEntries(
      Object.entries(file.providers ?? {}).map(([name, { api_key, ...provider }]) => [
        name,
        inCamelCase({ ...provider, api_key: api_key || undefined }) as unknown as ProviderSettings,
      ]),
    ),
    prices: file.prices ?? [],
    tools: file.tools ?? [],
    channels: nameChannels(file.channels ?? []),
    plugins: file.plugins ?? [],
    allowPrivateNetworks: file.allow_private_networks ?? [],
    trustedProxies: file.trusted_proxies ?? [],
    ...limitsOf(file),
  };
  const others = Object.values(file.profiles ?? {}).flatMap(({ api_key, db_token }) => [api_key, db_token])
    .filter((secret) => secret !== undefined && !secret.includes("${"));
  if (others.length > 0) config.otherSecrets = others as string[];
  if (file.import?.plans) Object.assign(config, plansOf(file.import.plans));
  if (file.import?.sums) config.importSums = file.import.sums;
  if (file.bill_imports) config.billImports = file.bill_imports.map(inCamelCase) as unknown as BillSetting[];
  const notifyFrom = file.anomalies?.notify_from;
  if (notifyFrom !== undefined) config.notifyAnomaliesFrom = notifyFrom;
  if (configPath !== undefined) config.configPath = configPath;
  if (text) config.fileKeys = Object.keys(file);
  const spoolFolder = env.PURSER_SPOOL || file.spool_folder ||
    findSpoolFolder(config.dbUrl, env, platform);
  if (spoolFolder !== undefined) config.spoolFolder = spoolFolder;
  const pricesFolder = findPricesFolder(env, platform);
  if (pricesFolder !== undefined) config.pricesFolder = pricesFolder;
  if (config.dbUrl === "" && config.server === undefined) {
    throw new PurserError(
      "invalid",
      "Cannot choose a database: the home directory is not known; give --db or set PURSER_DB",
    );
  }
  return config;
}

function plansOf(
  plans: NonNullable<NonNullable<ConfigFile["import"]>["plans"]>,
): Pick<Config, "importPlans" | "planPrices"> {
  const all = plans.map((plan) => typeof plan === "string" ? { agent: plan } : plan);
  const priced = all.flatMap((plan) => "usd_per_month" in plan ? [[plan.agent, plan.usd_per_month]] : []);
  return {
    importPlans: all.map(({ agent }) => agent),
    ...priced.length > 0 && { planPrices: Object.fromEntries(priced) },
  };
}

/**
 * Reads the prices of a config file again.
 *
 * @throws {PurserError} `invalid` as `loadConfig()`, for any setting of the file
 */
export async function readConfigPrices(
  path: string,
  { env, profile }: { env: Environment; profile: string | undefined },
): Promise<readonly PriceOverride[]> {
  const { parseConfigFile } = await import("./file/parse_config_file.ts");
  return parseConfigFile(await readTextFile(path), { path, env, profile }).file.prices ?? [];
}

function limitsOf({ limits = {} }: ConfigFile): Pick<Config, "limits" | "requestLimits"> {
  const isOfRequests = ([name]: [string, unknown]) => Object.hasOwn(REQUEST_LIMITS, name);
  const [connections = [], requests = []] = [false, true].map((isWanted) =>
    Object.entries(limits).filter((limit) => isOfRequests(limit) === isWanted)
  );
  return {
    limits: { shutdownSeconds: 10, ...inCamelCase(Object.fromEntries(connections)) },
    requestLimits: Object.fromEntries(requests),
  };
}

/** Returns an object with its keys in camel case, without those that have no value. */
function inCamelCase(object: object): Record<string, unknown> {
  const entries = Object.entries(withoutUndefined(object));
  return Object.fromEntries(entries.map(([key, value]) => [toCamelCase(key), value]));
}

/** Finds the path of the config file: an explicit one, or the user's default, which need not exist. */
export function locateConfig(env: Environment, option: string | undefined, platform: Platform) {
  const named = option || env.PURSER_CONFIG || undefined;
  return { path: named ?? findConfigFile(env, platform), isNamed: named !== undefined };
}

/**
 * Opens the profiles of the config file; the rest of the file need not be valid. The module is loaded lazily, since it
 * imports zod and the JSONC editor.
 *
 * @throws {PurserError} `invalid` when no path of a config file is known
 */
export async function openProfiles({ env, configPath }: {
  env: Environment;
  configPath?: string;
}): Promise<ProfilesFile> {
  const { path } = locateConfig(env, configPath, currentPlatform());
  if (path === undefined) {
    throw new PurserError(
      "invalid",
      "Cannot find the config file: the home directory is not known; give --config or set PURSER_CONFIG",
    );
  }
  const module = await import("./profiles_file.ts");
  return module.openProfilesFile(path);
}

/** Longer than any key: the content of a wrong file is refused rather than sent. */
const MAX_KEY = 4_096;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory; write the key into it",
  EISDIR: "is a directory; name the file in it",
};

/**
 * Reads a file that contains one API key, and warns when other users can read it. No message contains its content.
 *
 * @throws {PurserError} `invalid` when the file can't be read or contains no key
 */
export async function readKeyFile(path: string, warn: (message: string) => void): Promise<string> {
  const refuse = (reason: string, cause?: unknown) =>
    new PurserError("invalid", `Cannot use the API key file ${path}: ${reason}`, { cause });
  let text: string;
  try {
    text = await readTextFile(path);
  } catch (error) {
    const reason = REASONS[systemCodeOf(error) ?? ""];
    throw refuse(reason ?? systemReason(error), error);
  }
  const key = text.trim();
  if (key === "") throw refuse("it is empty; write the key into it");
  if (key.length > MAX_KEY || !/^[\x21-\x7e]+$/.test(key)) {
    throw refuse("it must contain one key and nothing else");
  }
  const { stat } = await import("node:fs/promises");
  const { mode } = await stat(path);
  // Windows has no permission bits.
  if ((mode & 0o077) !== 0 && globalThis.process.platform !== "win32") {
    warn(`Other users can read the API key file ${path}: chmod 600 ${path}`);
  }
  return key;
}
