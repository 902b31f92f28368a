import { PurserError } from "../kernel/errors.ts";
import { nearestName } from "../kernel/text.ts";
import { pickSetting, RANK, type Rank, type Setting } from "./pick_setting.ts";
import type { ConfigFile } from "./file/schema.ts";
import { parseServerUrl } from "./server_url.ts";

/** Where a command works, and the secret that it shows there. */
export interface Place {
  /** Undefined: the default database. */
  dbUrl?: string;
  dbToken?: string;
  /** A server to work through; it has won over `dbUrl`. */
  server?: string;
  apiKey?: string;
  /** Read when the key is needed. */
  apiKeyFile?: string;
  /** The profile that named the place. */
  profile?: string;
}

interface PlaceInput {
  options: { dbUrl?: string; server?: string; apiKey?: string; profile?: string };
  env: Readonly<Record<string, string | undefined>>;
  file: ConfigFile;
  /** For messages. */
  configPath: string | undefined;
}

/**
 * Chooses between all that name a server or a database. A profile of the command line is an option; one of the
 * environment gives way to a place that is named there. A profile's secret goes to its own place only, and the
 * secrets beside `server` and `db` in the file never to that of a profile.
 *
 * @throws {PurserError} `invalid`: options that contradict each other, an unknown profile, a wrong URL
 */
export function choosePlace({ options, env, file, configPath }: PlaceInput): Place {
  refuseTogether(options);
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
    ...(db.value !== undefined && { dbUrl: db.value }),
    ...(useServer && { server: parseServerUrl(server.value!, server.source) }),
    ...chooseKey(
      pickSetting("--api-key", options.apiKey, env.PURSER_API_KEY, "", undefined),
      secrets,
      secretRank,
    ),
    ...chooseToken(env.PURSER_DB_TOKEN, secrets.db_token, secretRank),
    ...(isOfProfile && { profile: named.value! }),
  };
}

/** Two options that name a place each leave it open which one is meant. */
function refuseTogether(options: PlaceInput["options"]): void {
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
      "purser profiles add makes one"
    : `${configPath} has no profile ${name}${
      near ? `; did you mean ${near}?` : "; see purser profiles list"
    }`;
  throw new PurserError("invalid", `Cannot use ${source}: ${reason}`);
}

type Secrets = { api_key?: string; api_key_file?: string };

function chooseKey(given: Setting, { api_key, api_key_file }: Secrets, rank: Rank): Place {
  const isWritten = api_key !== undefined || api_key_file !== undefined;
  if (given.value !== undefined && !(isWritten && rank > given.rank)) return { apiKey: given.value };
  return {
    ...(api_key !== undefined && { apiKey: api_key }),
    ...(api_key_file !== undefined && { apiKeyFile: api_key_file }),
  };
}

function chooseToken(fromEnvironment: string | undefined, written: string | undefined, rank: Rank): Place {
  const token = written !== undefined && rank > RANK.environment ? written : fromEnvironment || written;
  return token === undefined || token === "" ? {} : { dbToken: token };
}
