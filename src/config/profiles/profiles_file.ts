import { resolve } from "node:path";
import { PurserError } from "../../kernel/errors.ts";
import { readTextFile } from "../../kernel/files.ts";
import { parseDatabaseUrl } from "../../kernel/database_url.ts";
import { describeIssue } from "../file/describe_issue.ts";
import { editConfigFile } from "../file/edit_config_file.ts";
import { nearestName } from "../../kernel/text.ts";
import { parseJsonc } from "../file/parse_jsonc.ts";
import { PROFILE_NAME } from "./profile_name.ts";
import { Profiles } from "./profile_schema.ts";
import { readConfigText } from "../file/read_config_text.ts";
import { keysKnownAt } from "../file/schema.ts";
import { parseServerUrl } from "../server_url.ts";

/** A profile as it may be shown: where it leads, and whether it has a secret, never which. */
export interface ListedProfile {
  name: string;
  server: string | null;
  db: string | null;
  /** The file that holds the key, as it is written. */
  api_key_file: string | null;
  /** Whether a key or a token stands in the config file itself. */
  has_secret: boolean;
}

/** What a new profile is made of: a server or a database. */
export interface NewProfile {
  name: string;
  server?: string;
  apiKeyFile?: string;
  db?: string;
}

/** The profiles of one config file. */
export interface ProfilesFile {
  /** The absolute path of the file, which need not be there yet. */
  path: string;
  list(): Promise<ListedProfile[]>;
  /** Throws `conflict` where there is one of that name, `invalid` where it can't be one. */
  add(profile: NewProfile): Promise<ListedProfile>;
  /** Throws `not_found`. */
  remove(name: string): Promise<void>;
}

/** Opens the profiles of a file. What else it holds is neither checked nor changed. */
export function openProfilesFile(givenPath: string): ProfilesFile {
  const path = resolve(givenPath);
  const read = async () => readProfiles((await readConfigText(path, false, readTextFile))?.content, path);
  return {
    path,
    list: async () => Object.entries(await read()).map(([name, profile]) => describeProfile(name, profile)),
    async add({ name, ...place }) {
      if (!PROFILE_NAME.test(name)) {
        throw refuse(
          `add profile ${JSON.stringify(name)}`,
          "a name has 1 to 64 letters, digits, '.', '_' or '-'",
        );
      }
      const profile = writtenForm(place);
      await editConfigFile(path, (text) => {
        if (Object.hasOwn(readProfiles(text, path), name)) {
          throw new PurserError(
            "conflict",
            `Cannot add profile ${name}: there is one of that name; purser profiles remove ${name} takes it away`,
          );
        }
        return { at: ["profiles", name], value: profile };
      });
      return describeProfile(name, profile);
    },
    async remove(name) {
      await editConfigFile(path, (text) => {
        const names = Object.keys(readProfiles(text, path));
        if (names.includes(name)) return { at: ["profiles", name], value: undefined };
        const near = nearestName(name, names);
        throw new PurserError(
          "not_found",
          `Cannot find profile ${name} in ${path}${near ? `; did you mean ${near}?` : ""}`,
        );
      });
    },
  };
}

type Written = Profiles[string];

function readProfiles(text: string | undefined, path: string): Profiles {
  if (text === undefined || text.trim() === "") return {};
  const refuseFile = (reason: string) =>
    new PurserError("invalid", `Cannot use the config file ${path}: ${reason}`);
  const written = parseJsonc(text, refuseFile) as { profiles?: unknown } | null;
  const result = Profiles.safeParse(written?.profiles ?? {});
  if (result.success) return result.data;
  const issues = result.error.issues.flatMap((issue) =>
    describeIssue({ ...issue, path: ["profiles", ...issue.path] }, keysKnownAt)
  );
  throw refuseFile(issues.slice(0, 5).join("; "));
}

/** Paths are made absolute: the file may be anywhere, and the command is run from anywhere. */
function writtenForm({ server, apiKeyFile, db }: Omit<NewProfile, "name">): Written {
  if (server !== undefined) {
    return {
      server: parseServerUrl(server, "--server"),
      ...(apiKeyFile !== undefined && { api_key_file: resolve(apiKeyFile) }),
    };
  }
  const address = parseDatabaseUrl(db!);
  if (address.kind === "memory") {
    throw refuse("use --db", "a database in memory is gone when the command ends");
  }
  return { db: address.kind === "file" ? resolve(address.path) : address.url };
}

function describeProfile(name: string, profile: Written): ListedProfile {
  return {
    name,
    server: withoutUser(profile.server),
    db: withoutUser(profile.db),
    api_key_file: profile.api_key_file ?? null,
    has_secret: profile.api_key !== undefined || profile.db_token !== undefined,
  };
}

/** A hand-written URL may hold a password; it will be refused when it is used, and is not shown before. */
function withoutUser(url: string | undefined): string | null {
  return url?.replace(/\/\/[^/@]*@/, "//***@").replace(/(authToken=)[^&]*/gi, "$1***") ?? null;
}

function refuse(action: string, reason: string): PurserError {
  return new PurserError("invalid", `Cannot ${action}: ${reason}`);
}
