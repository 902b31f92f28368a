import type { Add, CredentialKind, Finding } from "./find_tokens.ts";
import { classAt, escapeLength, lettersAt, matchAt, oneOf, tailBefore, wordsOf } from "./credential_text.ts";
import { isPlaceholder, isSecret } from "./secret_value.ts";

const NAME_ENDS = wordsOf(
  "password passwd pwd passphrase passwort key secret sig signature token auth pass credential authorization cookie",
);
/**
 * The last three letters of those names and their plurals, each with the letter before or, for a name of three, a
 * wildcard: few other words before a separator end so.
 */
const ENDS = new Uint8Array(1 << 15);
const LAST_LETTERS = new Uint8Array(1 << 5);
const ANY = 32;
for (const name of NAME_ENDS) {
  const { length } = name;
  ENDS[lettersAt(name, length - 3, 3)] = length === 3 ? ANY : name.charCodeAt(length - 4) & 31;
  ENDS[lettersAt(`${name}s`, length - 2, 3)] = name.charCodeAt(length - 3) & 31;
  LAST_LETTERS[lettersAt(name, length - 1, 1)] = LAST_LETTERS[lettersAt("s", 0, 1)] = 1;
}
/** The characters allowed between a name and its separator: blanks, and the end of a quote or an index. */
const BETWEEN = Uint8Array.from(
  { length: 128 },
  (_, code) => +"\t \\\"'`])*".includes(String.fromCharCode(code)),
);

/** Returns the name before a separator, if it ends like a name of credentials. */
function nameBefore(text: string, at: number): { name: string; start: number } | undefined {
  let end = at - 1;
  let last = text.charCodeAt(end);
  while (BETWEEN[last] === 1 && end > at - 8) last = text.charCodeAt(--end);
  if (LAST_LETTERS[last & 31] === 0) return undefined;
  end++;
  const letter = ENDS[lettersAt(text, end - 3, 3)]!;
  if (letter === 0 || (letter !== ANY && letter !== (text.charCodeAt(end - 4) & 31))) return undefined;
  let start = end;
  while (end - start < 64 && (classAt(text, start - 1) !== 0 || text[start - 1] === ".")) start--;
  start += escapeLength(text, start);
  if (text.startsWith("[redacted:", start - 10)) return undefined;
  const name = text.slice(start, end);
  const first = /^(?:key|secret|token)$/i.test(name) && /[A-Za-z]+ $/.exec(tailBefore(text, start, 16));
  return first ? { name: first[0].trim() + "_" + name, start: start - first[0].length } : { name, start };
}

/**
 * Finds the values of `NAME=…`, `name: …`, `"name": "…"`, `'name' => '…'` and `<name>…</name>`, and the credentials of
 * URLs, at each separator `:`, `=` or `>` of a text.
 */
export function findAssignments(text: string, separator: string, add: Add): void {
  for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, at + 1)) {
    const finding = separator === ":" && findInUrl(text, at) || findAssignment(text, at);
    if (!finding) continue;
    add(finding);
    at = finding.end - 1;
  }
}

const USER_INFO = /:(?:\\?\/){2}([^\s/?#@:"'`<>[\\]{0,128}:)?([^\s/?#"'`<>\\]{1,256})@(?=[\w.[-])/y;
const WEBHOOK_PATHS = oneOf(
  String.raw`hooks\.slack\.com/(?:services|workflows|triggers) discord(?:app)?\.com/api/webhooks ` +
    String.raw`[\w-]{1,63}\.webhook\.office\.com/webhookb2`,
).replaceAll("/", String.raw`\\?/`);
const WEBHOOK = new RegExp(String.raw`:(?:\\?/){2}${WEBHOOK_PATHS}\\?/([\w@/\\-]{20,})`, "y");

/** Finds the password or token before a URL's host, or the secret path of a webhook's URL. */
function findInUrl(text: string, at: number): Finding | undefined {
  if (text[at + 1] !== "/" && text[at + 1] !== "\\") return undefined;
  const [userInfo, user, password = ""] = matchAt(USER_INFO, text, at) ?? [];
  const isToken = password.length >= 20 &&
    isSecret(password, { name: "", trust: "weak", isQuoted: true });
  if (userInfo && (user === undefined ? isToken : !isPlaceholder(password))) {
    const end = at + userInfo.length - 1;
    return { kind: "url_credential", start: end - password.length, end };
  }
  const webhook = matchAt(WEBHOOK, text, at);
  const end = at + (webhook?.[0].length ?? 0);
  return webhook ? { kind: "webhook_url", start: end - webhook[1]!.length, end } : undefined;
}

/** Matches from the separator to the value, with a type in between, as in `token: str = "…"`. */
const OPENING = new RegExp(
  String.raw`(?:=>|:=|={1,3}|:|>)(?:[ \t]{0,8}&?(?:str|string)[ \t]?=)?[ \t]{0,8}(?:\*\*[ \t]?)?` +
    String.raw`(?:[bfru]{1,2}(?=["']))?(\\*["'${"`"}]|%22|&quot;)?`,
  "iy",
);
const SCHEME = /([A-Za-z][\w-]*) +(?=[^\s"'\\])/y;

function findAssignment(text: string, at: number): Finding | undefined {
  const field = nameBefore(text, at);
  if (!field) return undefined;
  const { name, start: nameStart } = field;
  const ownTrust = trustOf(name);
  if (!ownTrust && !PARAMETER_NAME.test(name)) return undefined;
  const isParameter = /(?:[?&]|&amp;|\\u0026)$/.test(tailBefore(text, nameStart, 6));
  const isElement = text[at] === ">";
  if ((!ownTrust && !isParameter) || (isElement && text[nameStart - 1] !== "<")) return undefined;
  const trust = ownTrust ?? "weak";
  const [opening, quote] = matchAt(OPENING, text, at)!;
  let start = at + opening.length;
  if (trust === "cookie") return findCookie(text, start);
  const scheme = trust === "authorization" ? matchAt(SCHEME, text, start) : null;
  start += scheme?.[0].length ?? 0;
  const raw = quote && !scheme ? readQuoted(text, start, quote) : readBare(text, start);
  const value = isParameter ? raw.split("#", 1)[0]! : raw;
  const next = text[start + value.length];
  if (isElement ? next !== "<" : !quote && (next === "(" || next === "[")) return undefined; // a call
  const isPlain = ownTrust !== undefined && (isParameter || isAssignedPlainly(text, at, field, quote, value));
  const isScheme = scheme !== null;
  if (!isSecret(value, { name, trust, isQuoted: quote !== undefined, isPlain, isScheme })) return undefined;
  const end = start + value.length;
  const rest = quote && !scheme ? 0 : lengthOfRest(text, end, value);
  return { kind: isParameter ? "url_credential" : kindOf(name, trust), start, end: end + rest };
}

const QUOTED: Record<string, RegExp> = {
  '"': /(?:[^"\\\n]|\\.){0,4096}/y,
  "'": /(?:[^'\\\n]|\\.){0,4096}/y,
  "`": /(?:[^`\\\n]|\\.){0,4096}/y,
};
const QUOTED_WITHIN = /[^\s"'`\\&%]{0,4096}/y;

/** Returns a value up to its closing quote, or to the end of a truncated text. */
function readQuoted(text: string, start: number, quote: string): string {
  return matchAt(quote.length === 1 ? QUOTED[quote]! : QUOTED_WITHIN, text, start)![0];
}

const BARE = /[^\s"'`,;&<>(){}[\]|\\]{1,64}/y;

/** Returns up to 64 characters of a value without quotes. */
function readBare(text: string, start: number): string {
  const value = matchAt(BARE, text, start)?.[0] ?? "";
  return value.length === 64 ? value : value.replace(/[.,:;?*]+$/, "");
}

/** Returns the length of a value beyond `readBare()`; only a secret is read to its end, which takes time. */
function lengthOfRest(text: string, end: number, value: string): number {
  return value.length === 64 ? matchAt(/[\w+/.~%=-]*/y, text, end)![0].length : 0;
}

const COOKIE = /[\w.-]{1,64}=[^\s;"'\\[<$]{8,}[^\r\n"'\\[<$]{0,4096}/y;

function findCookie(text: string, start: number): Finding | undefined {
  const value = matchAt(COOKIE, text, start)?.[0];
  return value === undefined ? undefined : { kind: "cookie", start, end: start + value.length };
}

/** Returns true for an assignment in a configuration, where even a plain word can be a password. */
function isAssignedPlainly(
  text: string,
  at: number,
  { name, start }: { name: string; start: number },
  quote: string | undefined,
  value: string,
): boolean {
  const isCompactJson = quote !== undefined && text[at] === ":" && text[at - 1] === quote.at(-1);
  if (isCompactJson) return text[at + 1] === quote[0] && /^[a-z]{8,}$/.test(value);
  if (quote || text[at] !== "=" || at !== start + name.length) return text[at] === ">";
  if (/^[A-Z][A-Z0-9_]*$/.test(name)) return true;
  const isAlone = /(?:^|[;\n]|\\n)$/.test(tailBefore(text, start, 2));
  return isAlone && /^(?:$|[\s;\\])/.test(text.slice(at + 1 + value.length, at + 2 + value.length));
}

const FLAG = /(?<![\w-])(?:--([a-z][\w-]{2,40})|-u)[ \t=]+(["']?)/gi;

/** Finds the values of `--password`, `--token` and the like, and the password of curl's user. */
export function findFlags(text: string, add: Add): void {
  for (const { 0: flag, 1: name = "user", 2: quote, index } of text.matchAll(FLAG)) {
    const isUser = /^(?:proxy-)?user$/.test(name);
    const trust = trustOf(name);
    if (!isUser && !trust) continue;
    const start = index + flag.length;
    const value = readBare(text, start);
    const end = start + value.length;
    if (trust) {
      const isCredential = isSecret(value, { name, trust, isQuoted: quote !== "" });
      if (isCredential) add({ kind: kindOf(name, trust), start, end: end + lengthOfRest(text, end, value) });
      continue;
    }
    const password = value.slice(value.indexOf(":") + 1);
    if (password === value || isPlaceholder(password)) continue;
    if (!/\bcurl\b/.test(tailBefore(text, index, 1000))) continue;
    add({ kind: "authorization_header", start: end - password.length, end });
  }
}

/** The trust in a name: under a weak one the value has to look like a secret. */
export type Trust = "strong" | "weak" | "authorization" | "cookie";

const KEY_OWNER = oneOf(
  "api access account secret private signing signature encryption master auth subscription consumer client shared " +
    "service app webhook jwt session hmac deploy admin",
);
const STRONG_NAME = new RegExp(
  `(?:pass(?:word|wd|phrase|wort)|pwd|${KEY_OWNER}[_.-]?(?:access[_.-]?)?(?:key|secret))s?$`,
  "i",
);
const WEAK_NAME = /(?:token|secret|credential|(?<![a-z])(?:auth|pass))$/i;
const WEAK_CAMEL_NAME = /[a-z](?:Auth|Pass)$/;
/** `next_page_token` is a cursor, `pad_token` a model's, `resetPassword` a button. */
const HARMLESS_NAME = new RegExp(
  "(?:^|[_.-])" + oneOf(
    "forgot forgotten reset change update show hide toggle has is no use require required wrong invalid incorrect " +
      "missing enter max min next prev previous page continuation sync cursor cancellation pad eos bos unk sep cls " +
      "mask stop image special",
  ) + "[_.-]?(?:page|user)?[_.-]?(?:pass[a-z]*|pwd|token)$",
  "i",
);
/** Further names of secret URL parameters. */
const PARAMETER_NAME = /^(?:key|sig|signature|x-(?:amz|goog)-signature)$/i;

/** Returns the trust in a field or variable to hold a credential; undefined for all but a few. */
export function trustOf(name: string): Trust | undefined {
  if (STRONG_NAME.test(name)) return HARMLESS_NAME.test(name) ? undefined : "strong";
  if (WEAK_NAME.test(name) || WEAK_CAMEL_NAME.test(name)) {
    return HARMLESS_NAME.test(name) ? undefined : "weak";
  }
  if (/(?<![a-z])authorization$/i.test(name)) return "authorization";
  return /^(?:set-)?cookie$/i.test(name) ? "cookie" : undefined;
}

/** Returns the kind of the credentials under a name. */
export function kindOf(name: string, trust: Trust): CredentialKind {
  if (trust === "authorization") return "authorization_header";
  if (trust === "cookie") return "cookie";
  return /secret[_-]?access[_-]?key|aws[_-]?secret/i.test(name) ? "aws_secret_key" : "named_secret";
}
