import { PurserError } from "../kernel/errors.ts";
import { nearestName } from "../kernel/nearest_name.ts";
import { pickSetting, RANK, type Rank, type Setting } from "./pick_setting.ts";
import type { Environment } from "./environment.ts";
import type { ConfigFile } from "./file/parse_config_file.ts";

/** The server or the database of a command, with the secret for it. */
export interface Target {
  /** Undefined: the default database. */
  dbUrl?: string;
  /** The setting that names `dbUrl`, for messages. Undefined: the default database. */
  dbSource?: string;
  dbToken?: string;
  /** A server; it takes precedence over `dbUrl`. */
  server?: string;
  /** The setting that names `server`. */
  serverSource?: string;
  apiKey?: string;
  /** Read when the key is needed. */
  apiKeyFile?: string;
  /** The profile that the target comes from. */
  profile?: string;
}

interface TargetInput {
  options: { dbUrl?: string; server?: string; apiKey?: string; profile?: string };
  env: Environment;
  file: ConfigFile;
  /** For messages. */
  configPath: string | undefined;
}

/**
 * Chooses the target from options, environment, profile and file. A profile of the command line has the precedence of
 * an option; PURSER_SERVER and PURSER_DB override PURSER_PROFILE. A profile's secret is sent to its own target only, and
 * the file's top-level secrets never to the target of a profile.
 *
 * @throws {PurserError} `invalid` on conflicting options, an unknown profile, an invalid URL
 */
export function chooseTarget({ options, env, file, configPath }: TargetInput): Target {
  refuseConflict(options);
  const named = pickSetting("profile", options.profile, env.PURSER_PROFILE, "PURSER_PROFILE", undefined);
  const profile = findProfile(named, file, configPath);
  const profileRank = named.rank === RANK.option ? RANK.option : RANK.profile;
  const strongest = (setting: Setting, value: string | undefined, key: string): Setting =>
    value !== undefined && profileRank > setting.rank
      ? { value, rank: profileRank, source: `${key} of the profile ${named.value}` }
      : setting;

  const ownServer = pickSetting("server", options.server, env.PURSER_SERVER, "PURSER_SERVER", file.server);
  const ownDb = pickSetting("db", options.dbUrl, env.PURSER_DB, "PURSER_DB", file.db);
  const server = strongest(ownServer, profile?.server, "server");
  const db = strongest(ownDb, profile?.db, "db");
  const useServer = server.value !== undefined && server.rank >= db.rank;
  if (!useServer && db.value === "") {
    throw new PurserError("invalid", `Cannot use ${db.source}: it is empty; give a path or a URL`);
  }
  const isOfProfile = profile !== undefined && (useServer ? server !== ownServer : db !== ownDb);
  const secrets = isOfProfile ? profile : file;
  const secretRank = isOfProfile ? profileRank : RANK.file;
  return {
    ...(db.value !== undefined && { dbUrl: db.value, dbSource: db.source }),
    ...(useServer && {
      server: parseServerUrl(server.value!, server.source),
      serverSource: server.source,
    }),
    ...chooseKey(
      pickSetting("--api-key", options.apiKey, env.PURSER_API_KEY, "", undefined),
      secrets,
      secretRank,
    ),
    ...chooseToken(env.PURSER_DB_TOKEN, secrets.db_token, secretRank),
    ...(isOfProfile && { profile: named.value! }),
  };
}

/** Of two options that each name a target, neither takes precedence. */
function refuseConflict(options: TargetInput["options"]): void {
  const given = [["--profile", options.profile], ["--server", options.server], ["--db", options.dbUrl]]
    .flatMap(([option, value]) => value === undefined ? [] : [option]);
  if (given.length < 2) return;
  throw new PurserError("invalid", `Cannot use ${given[0]} together with ${given[1]}: give one of them`);
}

function findProfile({ value: name, source }: Setting, { profiles = {} }: ConfigFile, configPath?: string) {
  if (name === undefined) return undefined;
  if (Object.hasOwn(profiles, name)) return profiles[name];
  const near = nearestName(name, Object.keys(profiles));
  const reason = Object.keys(profiles).length === 0
    ? `${configPath === undefined ? "there is no config file" : `${configPath} has no profiles`}; ` +
      "create one with purser profiles add"
    : `${configPath} has no profile ${name}${
      near ? `; did you mean ${near}?` : "; see purser profiles list"
    }`;
  throw new PurserError("invalid", `Cannot use ${source}: ${reason}`);
}

type Secrets = { api_key?: string; api_key_file?: string };

function chooseKey(given: Setting, { api_key, api_key_file }: Secrets, rank: Rank): Target {
  const isWritten = api_key !== undefined || api_key_file !== undefined;
  if (given.value !== undefined && !(isWritten && rank > given.rank)) return { apiKey: given.value };
  return {
    ...(api_key !== undefined && { apiKey: api_key }),
    ...(api_key_file !== undefined && { apiKeyFile: api_key_file }),
  };
}

function chooseToken(fromEnvironment: string | undefined, written: string | undefined, rank: Rank): Target {
  const token = written !== undefined && rank > RANK.environment ? written : fromEnvironment || written;
  return token === undefined || token === "" ? {} : { dbToken: token };
}

/**
 * Returns the URL of a Purser server without a trailing slash. Throws `invalid`, naming the source of the setting, on
 * any other text and on a URL with a secret, because URLs end up in logs.
 */
export function parseServerUrl(text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === "" && url.search === "" && url.hash === "") {
    return url.href.replace(/\/+$/, "");
  }
  throw new PurserError(
    "invalid",
    `Cannot use ${source}: it must be an http:// or https:// URL without user, query or fragment` +
      (/^[\w.-]+(:\d+)?$/.test(text) ? `, such as http://${text}` : ""),
  );
}
