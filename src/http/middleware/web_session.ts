import { PurserError } from "../../kernel/errors.ts";
import type { HeaderFields } from "../../kernel/header_fields.ts";

/**
 * The session of a dashboard. Its token is in the storage of the page, which is that of one origin with its port, and comes in a
 * header. There is no cookie: browsers send those to every port of a host, and every port can set, replace and remove them.
 */

/** The header with the token. */
const SESSION_HEADER = "purser-dashboard";

const TOKEN = /^pws_[0-9a-f]{64}$/;

/** Returns the token of the session that a request belongs to. */
export function sessionTokenOf(headers: Pick<HeaderFields, "get">): string | undefined {
  const token = headers.get(SESSION_HEADER);
  return token !== null && TOKEN.test(token) ? token : undefined;
}

/**
 * Refuses a request of a page of another origin, by what browsers say about it. Over plain HTTP to another machine they leave
 * out `Sec-Fetch-Site`, and name the origin of a `POST`.
 */
export function checkOwnPage({ headers, url }: Request): void {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  const isOwn = site !== null
    ? site === "same-origin"
    : origin === null || hostOf(origin) === (headers.get("host") ?? new URL(url).host);
  if (isOwn) return;
  throw new PurserError(
    "forbidden",
    "Cannot sign in for another page: it is of another site or another port; open the dashboard at /ui/",
  );
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
