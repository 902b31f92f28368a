import { PurserError } from "./errors.ts";

/** The location of a database: a file, memory, or a server: libSQL or PostgreSQL (`isPostgresUrl()`). */
export type DatabaseAddress =
  | { kind: "file"; path: string }
  | { kind: "memory" }
  | { kind: "remote"; url: string };

/**
 * Parses the db setting: a path, `file:…`, `:memory:`, `libsql://…`, `http(s)://…` or `postgres://…`. Throws `invalid`, naming
 * the setting, on anything else and on a URL with a secret, because URLs end up in logs.
 */
export function parseDatabaseUrl(text: string, setting = "the database setting"): DatabaseAddress {
  const refuse = (reason: string) => new PurserError("invalid", `Cannot use ${setting}: ${reason}`);
  if (text.trim() === "") throw refuse("it is empty; give a path, :memory:, libsql://… or postgres://…");
  if (text === ":memory:" || text === "file::memory:") return { kind: "memory" };
  // One letter before the colon is a Windows drive.
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]+):/.exec(text)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      return filePath(text, refuse);
    case "file":
      return filePath(decodeFileUrl(text, refuse), refuse);
    case "libsql":
    case "http":
    case "https":
      return { kind: "remote", url: checkRemote(text, refuse) };
    case "postgres":
    case "postgresql":
      return { kind: "remote", url: checkPostgres(text, refuse) };
    case "ws":
      throw refuse("WebSockets are not supported; use http:// or libsql:// with the same host");
    case "wss":
      throw refuse("WebSockets are not supported; use https:// or libsql:// with the same host");
    default:
      throw refuse(
        `${scheme}: is not supported; give a path, file:…, :memory:, libsql://…, https://… or postgres://…`,
      );
  }
}

/** Creates the error that names the setting. */
type Refuse = (reason: string) => PurserError;

function filePath(path: string, refuse: Refuse): DatabaseAddress {
  if (path.includes("\0")) throw refuse("the path contains a zero byte");
  return { kind: "file", path };
}

function decodeFileUrl(text: string, refuse: Refuse): string {
  const rest = text.slice("file:".length);
  if (/[?#]/.test(rest)) throw refuse("a file: URL takes no ? or #; write them as %3F and %23");
  const path = rest.startsWith("//") ? rest.slice(2).replace(/^localhost(?=\/)/, "") : rest;
  if (rest.startsWith("//") && !path.startsWith("/")) throw refuse("a file:// URL needs an absolute path");
  if (path === "") throw refuse("file: names no path");
  try {
    // A URL writes a Windows path as `/C:/data`.
    return decodeURIComponent(path).replace(/^\/(?=[A-Za-z]:[\\/])/, "");
  } catch {
    throw refuse("the path of the file: URL has invalid percent-encoding");
  }
}

function checkRemote(text: string, refuse: Refuse): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || url.host === "") throw refuse("it is not a URL with a host");
  if (url.username !== "" || url.password !== "" || url.searchParams.has("authToken")) {
    throw refuse("the URL contains a secret; remove it and set PURSER_DB_TOKEN");
  }
  return text;
}

/** The driver checks the rest of it. */
function checkPostgres(text: string, refuse: Refuse): string {
  const url = URL.parse(text);
  if (!url || url.host === "") {
    throw refuse("it is not a URL with a host; give postgres://USER@HOST/DATABASE");
  }
  if (url.password !== "" || url.searchParams.has("password")) {
    throw refuse("the URL contains a secret; remove it and set PURSER_DB_TOKEN to the password");
  }
  return text;
}

/** The parameters that the URL of a PostgreSQL database may have; none of them is a secret. */
export const POSTGRES_PARAMETERS: readonly string[] = [
  ...["schema", "host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey"],
];

/** True for the URL of a PostgreSQL database. */
export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:/i.test(url);
}
