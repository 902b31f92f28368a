import { PurserError } from "../../kernel/errors.ts";
import { isLoopback } from "../../kernel/loopback_host.ts";

/** The cookie of a dashboard's session, and the requests that it counts for. */

/** Over TLS: browsers then refuse it from any other host, and without TLS. */
const SECURE_NAME = "__Host-purser";
const PLAIN_NAME = "purser";

const TOKEN = /^[0-9a-f]{64}$/;

/**
 * Returns the token of a request's cookie. Over TLS only the cookie that is bound to its host counts: a page of another
 * subdomain can set one of the plain name for this host, and so the session of somebody else.
 */
export function sessionTokenOf(request: Request): string | undefined {
  const cookies = new Map(
    (request.headers.get("cookie") ?? "").split(";").map((part) => {
      const [name, ...value] = part.trim().split("=");
      return [name, value.join("=")] as const;
    }),
  );
  const token = cookies.get(SECURE_NAME) ?? (isOverTls(request) ? undefined : cookies.get(PLAIN_NAME));
  return token !== undefined && TOKEN.test(token) ? token : undefined;
}

/**
 * Returns whether a browser sent a request over TLS, also behind a proxy that ends TLS. The browser names the origin of a
 * page that sends a `POST`, and over plain HTTP sends `Sec-Fetch-Site` to its own machine only; most proxies name the
 * scheme. These headers need no trust: to claim TLS only makes fewer cookies count.
 */
function isOverTls({ headers, url }: Request): boolean {
  const scheme = /^https?(?=:)/.exec(headers.get("origin") ?? "")?.[0];
  if (scheme !== undefined) return scheme === "https";
  const address = new URL(url);
  const host = `http://${headers.get("host") ?? address.host}`;
  const { hostname } = URL.canParse(host) ? new URL(host) : address;
  return address.protocol === "https:" ||
    /^\s*https\s*(,|$)/i.test(headers.get("x-forwarded-proto") ?? "") ||
    /^[^,]*\bproto="?https\b/i.test(headers.get("forwarded") ?? "") ||
    headers.has("sec-fetch-site") && !isLoopback(hostname) && !hostname.endsWith(".localhost");
}

/** Returns the `Set-Cookie` headers that keep a session's token until it ends, or remove it. */
export function sessionCookies(request: Request, token: string | undefined, maxAgeSeconds = 0): string[] {
  const isSecure = isOverTls(request);
  const cookie = (name: string, value: string, seconds: number) =>
    `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
  if (token !== undefined) return [cookie(isSecure ? SECURE_NAME : PLAIN_NAME, token, maxAgeSeconds)];
  return [cookie(PLAIN_NAME, "", 0), ...(isSecure ? [cookie(SECURE_NAME, "", 0)] : [])];
}

/**
 * Refuses a request that comes in by a cookie unless the dashboard itself sent it: a page of another site, or of another port
 * of this host, can make a browser send the cookie too. Browsers say where a request comes from in `Sec-Fetch-Site`; over
 * plain HTTP to another machine they leave it out. There the `Origin` counts, and for requests without one a header that no
 * other origin can send.
 */
export function checkOwnPage({ headers, url }: Request): void {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  const isOwn = site !== null
    ? site === "same-origin"
    : origin !== null
    ? hostOf(origin) === (headers.get("host") ?? new URL(url).host)
    : headers.has("purser-dashboard");
  if (isOwn) return;
  throw new PurserError(
    "forbidden",
    "Cannot answer by the session of the dashboard: another page sent the request; open the dashboard at /ui/",
  );
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
