import {
  ALPHANUMERIC,
  classAt,
  escapeLength,
  lettersAt,
  matchAt,
  oneOf,
  tailBefore,
  wordsOf,
} from "./credential_text.ts";
import { countOf, isChoppy, isSecret } from "./secret_value.ts";

/**
 * The formats of credentials, by their issuers. Each is matched at the start of a run of token characters; those like
 * `SG.` also before a run that follows a dot.
 */
export const FORMATS = {
  anthropic_key: String.raw`sk-ant-[\w-]{16,}`,
  openrouter_key: String.raw`sk-or-[\w-]{16,}`,
  openai_key: [
    String.raw`sk-(?:proj|svcacct|admin|service|None)-[\w-]{16,}`,
    String.raw`sk-(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}`,
  ].join("|"),
  google_key: String.raw`AIza[\w-]{30,}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}`,
  xai_key: String.raw`xai-[A-Za-z0-9]{20,}`,
  groq_key: String.raw`gsk_[A-Za-z0-9]{20,}`,
  huggingface_token: String.raw`hf_[A-Za-z0-9]{30,}`,
  aws_access_key_id: String.raw`(?:AKIA|ASIA(?=[A-Z]*\d))[A-Z0-9]{16}(?![\w-])`,
  github_token: String.raw`gh[opsur]_[A-Za-z0-9]{30,}|github_pat_\w{30,}`,
  gitlab_token: String.raw`gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent|oas)-[\w-]{18,}`,
  slack_token: String.raw`xox[abeoprs]-[\w-]{10,}|xapp-\d-[\w-]{20,}`,
  stripe_key: String.raw`[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{20,}`,
  twilio_key: String.raw`SK[0-9a-f]{32}(?![\w-])`,
  sendgrid_key: String.raw`SG\.[\w-]{16,}\.[\w-]{16,}`,
  npm_token: String.raw`npm_[A-Za-z0-9]{30,}`,
  pypi_token: String.raw`pypi-[\w-]{40,}`,
  purser_key: String.raw`psr_(?=\w*\d)\w{12,}`,
  jwt: String.raw`eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*){0,3}`,
  /** Those of DigitalOcean, Databricks, Figma, Grafana, Linear, Notion, Sentry, Shopify, Vault and others. */
  service_token: [
    String.raw`(?:figd|lin_api|ntn|r8|glsa|glc|sntrys|sntryu|ddp|pscale_\w{2,5}|lsv2_[ps][tk])_[\w-]{30,}`,
    String.raw`(?:dop_v1_|sbp_|rubygems_|shp(?:at|ca|pa|ss)_|dapi|key-|fc-|e2b_)[0-9a-f]{32,}`,
    String.raw`(?:pplx-|tvly-|nvapi-|sk-lf-|dckr_pat_|ATATT3|sq0[a-z]{3}-|PMAK-|NRAK-)[\w-]{20,}`,
    String.raw`(?:hv[bs]|dp\.[a-z]{2})\.[\w-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{50,}`,
  ].join("|"),
} as const;

/** The kind of a credential, as in its placeholder. */
export type CredentialKind =
  | keyof typeof FORMATS
  | "private_key"
  | "webhook_url"
  | "url_credential"
  | "authorization_header"
  | "cookie"
  | "aws_secret_key"
  | "named_secret"
  | "configured_secret"
  | "high_entropy_token";

/** A credential and its position in a text. */
export interface Finding {
  kind: CredentialKind;
  start: number;
  end: number;
}

/** Adds a finding, in any order. */
export type Add = (finding: Finding) => void;

const FORMAT = new RegExp(
  Object.entries(FORMATS).map(([kind, form]) => `(?<${kind}>${form})`).join("|"),
  "y",
);
/** The shortest run that can hold a known format. */
const SHORTEST_RUN = 20;
/** The first letters of the known formats, with which few other runs begin. */
const FORMAT_STARTS = wordsOf(
  "sk rk AI GO ya xa xo gs hf AK AS gh gi gl wh SK SG np py ps ey fi li nt r8 sn dd ls do sb ru sh da ke fc e2 pp tv " +
    "nv dc AT sq PM NR hv dp AG",
);
const STARTS = new Uint8Array(1 << 10);
for (const start of FORMAT_STARTS) STARTS[lettersAt(start, 0, 2)] = 1;

/**
 * Finds known formats and random tokens in the runs of letters, digits and `-_+/`. It reads backward from the least end
 * of a long enough run, so that most of ordinary prose is skipped.
 */
export function findTokens(text: string, add: Add, withoutEntropy: boolean): void {
  let start = 0;
  while (start + SHORTEST_RUN <= text.length) {
    let at = start + SHORTEST_RUN - 1;
    while (at >= start && classAt(text, at) !== 0) at--;
    if (at >= start) {
      start = at + 1;
      continue;
    }
    let end = start + SHORTEST_RUN;
    while (classAt(text, end) !== 0) end++;
    let rest = start + escapeLength(text, start);
    const addKnown: Add = (known) => {
      findUnknown(text, rest, known.start, add, withoutEntropy);
      add(known);
      rest = known.end;
    };
    findFormats(text, rest, end, addKnown);
    findUnknown(text, rest, end, add, withoutEntropy);
    start = Math.max(end, rest) + 1;
  }
}

/** Finds the known formats in a run, at its start and after a slash or a plus sign. */
function findFormats(text: string, from: number, end: number, add: Add): void {
  let at = from;
  while (end - at >= SHORTEST_RUN) {
    while (text[at] === "-" || text[at] === "_") at++;
    const start = at === from && text[at - 1] === "." ? startOfDotted(text, at) : at;
    const match = STARTS[lettersAt(text, start, 2)] === 1 && matchAt(FORMAT, text, start);
    if (match && !isDummy(match[0])) {
      const kind = Object.entries(match.groups!).find(([, form]) => form !== undefined)![0];
      at = start + match[0].length;
      add({ kind: kind as keyof typeof FORMATS, start, end: at });
    }
    while (at < end && text[at] !== "/" && text[at] !== "+") at++;
    at++;
  }
}

/** Returns the start of a token with dots, such as `SG.…`, whose run begins after the dot. */
function startOfDotted(text: string, at: number): number {
  const prefix = /(?:(?<![\w.-])|(?<=\\[nrt]))(?:SG|ya29|hv[bs]|dp\.[a-z]{2})\.$/.exec(
    tailBefore(text, at, 9),
  );
  return at - (prefix?.[0].length ?? 0);
}

/** Returns true for the example key of a manual: `sk-ant-xxxxxxxxxxxxxxxx`, `sk-proj-your-key-here`. */
function isDummy(key: string): boolean {
  return new Set(key.slice(-16)).size < 5 || /your[-_]|[-_]here\b|placeholder|redacted|x{6}/i.test(key);
}

const AFTER_SCHEME = /\b(bearer|basic)(?:\s|%20|\+)+$/i;
const SCHEME_TOKEN = /[\w.~+/-]+=*/y;

/** Finds a token without a known format: after `Bearer`, or random. */
function findUnknown(text: string, start: number, end: number, add: Add, withoutEntropy: boolean): void {
  if (end - start < SHORTEST_RUN) return;
  const last = text.charCodeAt(start - 2) | 32; // of a scheme, if there is one: r or c
  const scheme = (last === 114 || last === 99) && AFTER_SCHEME.exec(tailBefore(text, start, 12));
  if (scheme) {
    const token = matchAt(SCHEME_TOKEN, text, start)![0];
    const isBearer = /bearer/i.test(scheme[1]!);
    if (isBearer ? isSecret(token, { name: "", trust: "weak", isQuoted: true }) : isChoppy(token)) {
      return add({ kind: "authorization_header", start, end: start + token.length });
    }
  }
  if (!withoutEntropy) findRandom(text, start, end, add);
}

const SHORTEST_RANDOM = 24;
/** Longer runs are media. */
const LONGEST_RANDOM = 1000;
const WORD = /^(?:[A-Z]?[a-z]{2,}|[A-Z]{2,}|\d+|[0-9a-f]{8,}|[0-9A-F]{8,})$/;
const PATH_PART = /^(?:[a-z]{3,}|[A-Z][a-z]{2,}|[A-Z]{5,})$/;
/** The prefixes of ids of Purser, of model providers and of Stripe. */
const ID_PREFIX = oneOf(
  "run ses call evt msg req inst rule alert dlv key toolu srvtoolu chatcmpl cmpl resp rs fc fco ws ig ctc mcp mcpl " +
    "mcpr item event sess session conv thread asst step vs batch file ft ftjob org proj user gen aitxt aiobj cntr id " +
    "job task pi in ch cs price prod cus sub seti txn re po acct card src pm si",
);
/** Such an id, a KSUID, a public key of SSH, npm's integrity, or a hexadecimal number, also of mixed case. */
const ID = new RegExp(
  [
    `^${ID_PREFIX}(?:_test|_live)?[_-][\\w-]+$`,
    "^[0-3][A-Za-z0-9]{26}$",
    "^AAAA[A-Z][23][A-Z]",
    "^sha\\d+[-_]",
    "^(?:0x)?[0-9A-Fa-f]+$",
  ].join("|"),
);
/** The names of random values that are no credentials. */
const ORDINARY_NAME = oneOf(
  String.raw`hash sha-?\d* digest checksum integrity e-?tag fingerprint cursor nonce commit revision`,
);
/** Matches before such a value, an id, the content of a data URL or an encoded word of a mail. */
const BEFORE_ORDINARY = new RegExp(
  [
    String.raw`(?:;base64,|\?b\?)$`,
    String.raw`\b(?:sha\d{1,3}|h1|md5)[-:=]$`,
    String.raw`(?:${ORDINARY_NAME}|(?:\b|_)id)\\*["']?\s{0,3}[:=]\s{0,3}\\*["']?$`,
  ].join("|"),
  "i",
);
/** Matches before the value of a name like `requestId`. */
const BEFORE_CAMEL_ID = /[a-z]Id\\*["']?\s{0,3}[:=]\s{0,3}\\*["']?$/;

/** Finds a token that is long, of mixed classes and high entropy, unless its context says otherwise. */
function findRandom(text: string, from: number, end: number, add: Add): void {
  if (end - from < SHORTEST_RANDOM || end - from > LONGEST_RANDOM) return;
  let classes = 0;
  for (let at = from; at < end; at++) classes |= classAt(text, at);
  if ((classes & ALPHANUMERIC) !== ALPHANUMERIC) return;
  const run = text.slice(from, end);
  const parts = run.split("/");
  const isPath = parts[0] === "" || parts.some((part) => PATH_PART.test(part));
  let start = from;
  for (const token of isPath ? parts : [run]) {
    const tokenEnd = start + token.length;
    if (
      isRandom(token) && !isOrdinaryContext(text, from, end) &&
      !isBehindOrdinary(tailBefore(text, start, 40))
    ) {
      const padding = /^={0,2}/.exec(text.slice(tokenEnd, tokenEnd + 2))![0];
      add({ kind: "high_entropy_token", start, end: tokenEnd + padding.length });
    }
    start = tokenEnd + 1;
  }
}

/** Returns true for most random tokens of 24 characters, nearly all longer ones, and hardly a name. */
function isRandom(token: string): boolean {
  if (token.length < SHORTEST_RANDOM || ID.test(token)) return false;
  const parts = token.split(/[-_/+]/).filter((part) => part !== "" && !WORD.test(part));
  const rest = parts.join("");
  if (rest.length < 20 || rest.length < 7 * parts.length || !isChoppy(rest)) return false;
  if (countOf(/[A-Z]/g, rest) < 3 || countOf(/[a-z]/g, rest) < 3 || !/\d/.test(rest)) return false;
  const isCamelName = !/[A-Z](?![a-z])|(?<![a-z\d])\d/.test(rest); // OpConvertToInt64Float32x4
  const words = rest.match(/[A-Z]?[a-z]{3,}/g) ?? [];
  return !isCamelName && words.join("").length <= 0.5 * rest.length &&
    entropyOf(rest) >= 0.82 * Math.log2(Math.min(rest.length, 64));
}

/** Shannon's entropy, in bits per character. */
function entropyOf(token: string): number {
  const counts = new Map<string, number>();
  for (const character of token) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= count / token.length * Math.log2(count / token.length);
  return bits;
}

/** Returns true for a run within wrapped base64, or within a URL: a path, or a parameter with an ordinary name. */
function isOrdinaryContext(text: string, start: number, end: number): boolean {
  if (/[\w+/]{60,80}(?:\\r)?(?:\\n|\r?\n)[ \t]*$/.test(tailBefore(text, start, 100))) return true;
  const isLine = end - start >= 60 && end - start <= 80;
  if (isLine && /^(?:\\r)?(?:\\n|\r?\n)[ \t]*[\w+/=]/.test(text.slice(end, end + 20))) return true;
  const before = tailBefore(text, start + 2, 2000); // a run may begin with the slashes of a URL
  const host = Math.max(before.lastIndexOf("://"), before.lastIndexOf(":\\/\\/"));
  return host >= 0 && !/[\s"'`<>]|\\[nrt]/.test(before.slice(host));
}

/** Returns true for the name of a field whose values may be random and no credentials: a checksum, an id. */
export function isOrdinaryName(name: string): boolean {
  return isBehindOrdinary(`${name}:`);
}

function isBehindOrdinary(before: string): boolean {
  return BEFORE_ORDINARY.test(before) || BEFORE_CAMEL_ID.test(before);
}
