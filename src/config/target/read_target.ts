import { readTimeZone } from "../../contract/calendars/zones.ts";
import { PurserError } from "../../kernel/errors.ts";
import { isRecord } from "../../kernel/records.ts";
import { readTextFile } from "../../kernel/files/read_text_file.ts";
import { chooseTarget, type Target } from "../choose_target.ts";
import { currentPlatform, type Environment, findDataFile } from "../environment.ts";
import type { ConfigFile } from "../file/parse_config_file.ts";
import { readConfigText } from "../file/read_config_text.ts";
import { locateConfig } from "../load_config.ts";
import type { ConfigOptions } from "../config.ts";

/** The settings by which a status line is made. */
export interface TargetSettings extends Target {
  dbUrl: string;
  /** `statusline_template` of the config file. */
  template: string | undefined;
  /** `time_zone`; undefined for UTC. */
  timeZone: string | undefined;
}

type ReadFile = Pick<ConfigFile, "db" | "server" | "api_key" | "api_key_file" | "profiles"> & {
  statusline_template?: string;
  time_zone?: string;
};

/** The settings of the file, and of its profiles, that are read: all are texts. */
const READ = ["db", "server", "api_key", "api_key_file", "statusline_template", "time_zone"];

/**
 * Reads which ledger to use, with the precedence of `loadConfig()`. The rest of the config file isn't looked at: loading its schema takes
 * longer than all else that a status line needs.
 *
 * @throws {PurserError} `invalid`, naming the option, the variable or the path in the file
 */
export async function readTarget(
  { env, options }: { env: Environment; options: ConfigOptions },
): Promise<TargetSettings> {
  const platform = currentPlatform();
  const { path, isNamed } = locateConfig(env, options.configPath, platform);
  const inline = options.configPath ? undefined : env.PURSER_CONFIG_JSON || undefined;
  const read = inline === undefined
    ? await readConfigText(path, isNamed, readTextFile)
    : { path: undefined, content: inline };
  const configPath = read?.path;
  const file: ReadFile = read
    ? await readTargets(read.content, { env, configPath, profile: options.profile })
    : {};
  const { dbUrl = findDataFile(env, platform) ?? "", ...target } = chooseTarget({
    options,
    env,
    file,
    configPath,
  });
  const written = env.PURSER_TIME_ZONE || file.time_zone;
  const timeZone = written === undefined ? undefined : readTimeZone(written);
  return { dbUrl, ...target, template: file.statusline_template, timeZone };
}

async function readTargets(
  text: string,
  { env, configPath, profile }: {
    env: Environment;
    configPath: string | undefined;
    profile: string | undefined;
  },
): Promise<ReadFile> {
  const [{ dirname, resolve }, { parseJsonc }, { expandFile }, { locateTargets }] = await Promise.all([
    import("node:path"),
    import("../../kernel/json/parse_jsonc.ts"),
    import("../file/expand_variables.ts"),
    import("../file/locate_targets.ts"),
  ]);
  const refuse = (reason: string) =>
    new PurserError("invalid", `Cannot use ${configPath ?? "PURSER_CONFIG_JSON"}: ${reason}`);
  const written = parseJsonc(text, refuse);
  const { profiles } = isRecord(written) ? written : {};
  const wanted = {
    ...textsOf(written),
    ...(isRecord(profiles) && {
      profiles: Object.fromEntries(Object.entries(profiles).map(([name, value]) => [name, textsOf(value)])),
    }),
  };
  const selected = profile ?? env.PURSER_PROFILE;
  const file = expandFile(wanted, { env, refuse }, selected) as ReadFile;
  const folder = configPath === undefined ? "" : dirname(configPath);
  locateTargets(file, { profile: selected, locate: (path) => resolve(folder, path) });
  return file;
}

const textsOf = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(isRecord(value) ? value : {}).filter((entry): entry is [string, string] =>
      READ.includes(entry[0]) && typeof entry[1] === "string"
    ),
  );
