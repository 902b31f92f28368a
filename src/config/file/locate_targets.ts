import { parseDatabaseUrl } from "../../kernel/database_url.ts";

interface Target {
  api_key_file?: string;
  db?: string;
}

/** The targets of a config file, as far as they have paths. */
export interface TargetsOfFile extends Target {
  profiles?: Record<string, Target>;
}

/** Resolves the paths of key files, and of the databases of the file itself and of the selected profile. */
export function locateTargets(
  file: TargetsOfFile,
  { profile: name, locate }: { profile: string | undefined; locate: (path: string) => string },
): void {
  const { profiles = {} } = file;
  for (const target of [file, ...Object.values(profiles)]) {
    if (target.api_key_file !== undefined) target.api_key_file = locate(target.api_key_file);
  }
  const profile = name !== undefined && Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  for (const target of [file, ...profile ? [profile] : []]) {
    if (target.db === undefined) continue;
    const address = parseDatabaseUrl(target.db);
    if (address.kind === "file") target.db = locate(address.path);
  }
}
