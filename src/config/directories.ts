/** The operating systems that place a user's files differently. */
export type Platform = "linux" | "darwin" | "windows";

type Env = Readonly<Record<string, string | undefined>>;

/** Where the user's `purser.json` is by the platform's convention; undefined where no home is known. */
export function findConfigFile(env: Env, platform: Platform): string | undefined {
  const folder = platform === "windows"
    ? env.APPDATA
    : absolute(env.XDG_CONFIG_HOME) ?? underHome(env, platform === "darwin" ? MAC_FOLDER : ".config");
  return inPurser(folder, "purser.json", platform);
}

/** Where the user's `purser.db` is by the platform's convention; undefined where no home is known. */
export function findDataFile(env: Env, platform: Platform): string | undefined {
  const folder = platform === "windows"
    ? env.LOCALAPPDATA || env.APPDATA
    : absolute(env.XDG_DATA_HOME) ?? underHome(env, platform === "darwin" ? MAC_FOLDER : ".local/share");
  return inPurser(folder, "purser.db", platform);
}

const MAC_FOLDER = "Library/Application Support";

function underHome(env: Env, folder: string): string | undefined {
  const home = absolute(env.HOME);
  return home === undefined ? undefined : `${home.replace(/\/$/, "")}/${folder}`;
}

/** The XDG specification tells programs to ignore relative paths. */
function absolute(path: string | undefined): string | undefined {
  return path?.startsWith("/") ? path : undefined;
}

function inPurser(folder: string | undefined, file: string, platform: Platform): string | undefined {
  if (!folder) return undefined;
  const separator = platform === "windows" ? "\\" : "/";
  return [folder.replace(/[\\/]$/, ""), "purser", file].join(separator);
}
