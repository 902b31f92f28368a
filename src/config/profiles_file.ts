import { resolve } from "node:path";
import { PurserError } from "../kernel/errors.ts";
import { readTextFile } from "../kernel/files/read_text_file.ts";
import { replaceFile } from "../kernel/files/replace_file.ts";
import { parseDatabaseUrl } from "../kernel/database_url.ts";
import { describeIssue } from "./file/describe_issue.ts";
import { nearestName } from "../kernel/nearest_name.ts";
import { parseJsonc, withoutByteOrderMark } from "../kernel/json/parse_jsonc.ts";
import { keysKnownAt, PROFILE_NAME, Profiles } from "./file/parse_config_file.ts";
import { readConfigText } from "./file/read_config_text.ts";
import { parseServerUrl } from "./choose_target.ts";
import { applyEdits, type JSONPath, modify } from "jsonc-parser";

/** A profile in listings: its target, and whether it has a secret, never the secret. */
export interface ListedProfile {
  name: string;
  server: string | null;
  db: string | null;
  /** The path of the key file as written. */
  api_key_file: string | null;
  /** True if the config file contains a key or a token. */
  has_secret: boolean;
}

/** A new profile: a server or a database. */
export interface NewProfile {
  name: string;
  server?: string;
  apiKeyFile?: string;
  db?: string;
}

/** The profiles of one config file. */
export interface ProfilesFile {
  /** The absolute path of the file, which need not exist yet. */
  path: string;
  list(): Promise<ListedProfile[]>;
  /** Throws `conflict` where the name is in use, `invalid` on an invalid name or target. */
  add(profile: NewProfile): Promise<ListedProfile>;
  /** Throws `not_found`. */
  remove(name: string): Promise<void>;
}

/** Opens the profiles of a file. The rest of it is neither checked nor changed. */
export function openProfilesFile(givenPath: string): ProfilesFile {
  const path = resolve(givenPath);
  const read = async () => readProfiles((await readConfigText(path, false, readTextFile))?.content, path);
  return {
    path,
    list: async () => Object.entries(await read()).map(([name, profile]) => describeProfile(name, profile)),
    async add({ name, ...target }) {
      if (!PROFILE_NAME.test(name)) {
        throw refuse(
          `add profile ${JSON.stringify(name)}`,
          "a name has 1 to 64 letters, digits, '.', '_' or '-'",
        );
      }
      const profile = writtenForm(target);
      await editConfigFile(path, (text) => {
        if (Object.hasOwn(readProfiles(text, path), name)) {
          throw new PurserError(
            "conflict",
            `Cannot add profile ${name}: it exists; remove it with purser profiles remove ${name}`,
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

/** Makes paths absolute: neither the file's folder nor the working directory is fixed. */
function writtenForm({ server, apiKeyFile, db }: Omit<NewProfile, "name">): Written {
  if (server !== undefined) {
    return {
      server: parseServerUrl(server, "--server"),
      ...(apiKeyFile !== undefined && { api_key_file: resolve(apiKeyFile) }),
    };
  }
  const address = parseDatabaseUrl(db!);
  if (address.kind === "memory") {
    throw refuse("use --db", "a database in memory is lost when the command ends");
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

/** Masks the password that a hand-written URL may contain; such a URL is refused when it is used. */
function withoutUser(url: string | undefined): string | null {
  return url?.replace(/\/\/[^/@]*@/, "//***@").replace(/(authToken=)[^&]*/gi, "$1***") ?? null;
}

function refuse(action: string, reason: string): PurserError {
  return new PurserError("invalid", `Cannot ${action}: ${reason}`);
}

/** One change of a config file: a value at a path; undefined removes it. */
export interface ConfigEdit {
  at: JSONPath;
  value: unknown;
}

/** The text of a new config file. */
const EMPTY = "{\n}\n";

/**
 * Changes one value of a config file and keeps the rest, including comments and formatting. `decide` receives the text;
 * undefined means that there is no file, and one is created that only its user can read. The file is replaced
 * atomically, keeps its permissions, and stays a symbolic link if it is one.
 *
 * @throws {PurserError} `unavailable` when the file can't be written; errors of `decide`
 */
export async function editConfigFile(
  path: string,
  decide: (text: string | undefined) => ConfigEdit,
): Promise<void> {
  const before = (await readConfigText(path, false, readTextFile))?.content;
  const { at, value } = decide(before);
  const text = before === undefined || before.trim() === "" ? EMPTY : before;
  const json = withoutByteOrderMark(text);
  const edits = modify(json, at, value, { formattingOptions: formattingOf(json) });
  await replaceFile(path, text.slice(0, text.length - json.length) + applyEdits(json, edits));
}

/** Detects the file's indentation and line endings for what is added. */
function formattingOf(text: string) {
  const indent = /^[ \t]+(?=["/}])/m.exec(text)?.[0] ?? "  ";
  return {
    insertSpaces: !indent.startsWith("\t"),
    tabSize: indent.startsWith("\t") ? 1 : indent.length,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
}
