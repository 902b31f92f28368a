import { POSTGRES_PARAMETERS } from "../../kernel/database_url.ts";
import { PurserError } from "../../kernel/errors.ts";

/** The server, the database and the schema that a URL names. */
export interface PostgresAddress {
  /** In the order in which they are tried: after a failover another one is the primary. */
  servers: readonly { host: string; port: number }[];
  user: string;
  database: string;
  schema: string;
  tls: TlsMode;
  /** Paths of PEM files; `system` for the authorities of the system. */
  rootCert?: string;
  cert?: string;
  key?: string;
}

/** As in libpq (https://www.postgresql.org/docs/current/libpq-ssl.html). */
const TLS_MODES = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;
export type TlsMode = (typeof TLS_MODES)[number];

const DEFAULT_PORT = 5432;
const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * Reads `postgres://USER@HOST:PORT/DATABASE?schema=NAME&sslmode=…`. As in libpq, `host` and `port` may be given as parameters
 * instead: a list separated by commas, or the folder of a socket.
 *
 * @throws {PurserError} `invalid` for anything else; the message doesn't repeat the URL, which may contain a secret
 */
export function parsePostgresUrl(text: string, setting = "the database setting"): PostgresAddress {
  const refuse = (reason: string) => new PurserError("invalid", `Cannot use ${setting}: ${reason}`);
  const url = URL.parse(text);
  if (!url) throw refuse("it is not a URL; give postgres://USER@HOST/DATABASE");
  const given = url.searchParams;
  if (url.password !== "" || given.has("password")) {
    throw refuse("the URL contains a secret; remove it and set PURSER_DB_TOKEN to the password");
  }
  for (const name of given.keys()) {
    if (!POSTGRES_PARAMETERS.includes(name)) {
      throw refuse(`the URL has an unknown parameter ${name}; known are ${POSTGRES_PARAMETERS.join(", ")}`);
    }
  }
  const user = decodeURIComponent(url.username);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (user === "" || database === "") {
    throw refuse("the URL names no user or no database; give postgres://USER@HOST/DATABASE");
  }
  const schema = given.get("schema") ?? "public";
  if (!SCHEMA.test(schema) || schema.startsWith("pg_")) {
    throw refuse("the schema is not a name of lower-case letters, digits and _, or begins with pg_");
  }
  const tls = (given.get("sslmode") ?? "prefer") as TlsMode;
  if (!TLS_MODES.includes(tls)) throw refuse(`sslmode is none of ${TLS_MODES.join(", ")}`);
  return {
    servers: readServers(url, refuse),
    ...{ user, database, schema, tls },
    rootCert: given.get("sslrootcert") ?? undefined,
    cert: given.get("sslcert") ?? undefined,
    key: given.get("sslkey") ?? undefined,
  };
}

function readServers(url: URL, refuse: (reason: string) => PurserError): PostgresAddress["servers"] {
  const given = url.searchParams;
  const hosts = (given.get("host") ?? url.hostname.replace(/^\[|\]$/g, "")).split(",");
  if (hosts.some((host) => host === "")) throw refuse("it is not a URL with a host");
  const ports = (given.get("port") ?? (url.port || `${DEFAULT_PORT}`)).split(",").map(Number);
  const areValid = ports.every((port) => Number.isInteger(port) && port > 0 && port < 65_536);
  if (!areValid || ports.length > 1 && ports.length !== hosts.length) {
    throw refuse("port is not a number, or one for each host");
  }
  return hosts.map((host, index) => ({ host: decodeURIComponent(host), port: ports[index] ?? ports[0]! }));
}
