/** Environment variables by name. Always a parameter, so that an edge entry can pass its own record. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the environment of the process. No other code reads it. */
export function readEnvironment(): Record<string, string> {
  // Deno takes as long to load Node's `process` as to run a short command.
  return globalThis.Deno?.env.toObject() ?? { ...globalThis.process.env };
}

/** Operating systems whose conventions for a user's files differ. */
export type Platform = "linux" | "darwin" | "windows";

/** Returns the platform of this process. */
export function currentPlatform(): Platform {
  // An edge runtime has neither; without a home directory the default does no harm.
  const os: string | undefined = globalThis.Deno?.build.os ?? globalThis.process?.platform;
  return os === "windows" || os === "win32" ? "windows" : os === "darwin" ? "darwin" : "linux";
}

/** Returns the path of the user's `purser.json` on a platform; undefined where the home directory is unknown. */
export function findConfigFile(env: Environment, platform: Platform): string | undefined {
  const folder = platform === "windows"
    ? env.APPDATA
    : absolute(env.XDG_CONFIG_HOME) ?? underHome(env, platform === "darwin" ? MAC_FOLDER : ".config");
  return inPurser(folder, "purser.json", platform);
}

/** Returns the path of the user's `purser.db` on a platform; undefined where the home directory is unknown. */
export function findDataFile(env: Environment, platform: Platform): string | undefined {
  return inPurser(findDataFolder(env, platform), "purser.db", platform);
}

/** Returns the path of the database that is used where none is set; undefined where the home directory is unknown. */
export function findDefaultDatabase(env: Environment): string | undefined {
  return findDataFile(env, currentPlatform());
}

/** Returns the folder of updated prices on a platform: `prices` beside `purser.db`, whatever database is used. */
export function findPricesFolder(env: Environment, platform: Platform): string | undefined {
  return inPurser(findDataFolder(env, platform), "prices", platform);
}

/**
 * Returns the folder in which calls wait that a database server could not take: `spool` beside `purser.db`. Undefined for a
 * local database, beside which they wait, and where the home directory is unknown.
 */
export function findSpoolFolder(
  dbUrl: string,
  env: Environment,
  platform: Platform = currentPlatform(),
): string | undefined {
  const isServer = /^(?:libsql|https?|postgres(?:ql)?):/i.test(dbUrl);
  return isServer ? inPurser(findDataFolder(env, platform), "spool", platform) : undefined;
}

/** Returns the path of the file that keeps the newest release and when it was asked for; undefined where the home directory is unknown. */
export function findUpdateFile(env: Environment, platform: Platform = currentPlatform()): string | undefined {
  const folder = platform === "windows"
    ? env.LOCALAPPDATA || env.APPDATA
    : absolute(env.XDG_CACHE_HOME) ?? underHome(env, ".cache");
  return inPurser(folder, "update.json", platform);
}

function findDataFolder(env: Environment, platform: Platform): string | undefined {
  if (platform === "windows") return env.LOCALAPPDATA || env.APPDATA;
  return absolute(env.XDG_DATA_HOME) ?? underHome(env, platform === "darwin" ? MAC_FOLDER : ".local/share");
}

const MAC_FOLDER = "Library/Application Support";

function underHome(env: Environment, folder: string): string | undefined {
  const home = absolute(env.HOME);
  return home === undefined ? undefined : `${home.replace(/\/$/, "")}/${folder}`;
}

/** The XDG Base Directory Specification ignores relative paths. */
function absolute(path: string | undefined): string | undefined {
  return path?.startsWith("/") ? path : undefined;
}

function inPurser(folder: string | undefined, file: string, platform: Platform): string | undefined {
  if (!folder) return undefined;
  const separator = platform === "windows" ? "\\" : "/";
  return [folder.replace(/[\\/]$/, ""), "purser", file].join(separator);
}
