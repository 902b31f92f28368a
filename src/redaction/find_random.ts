import type { Add } from "./credential_finding.ts";
import { ALPHANUMERIC, classAt, oneOf, tailBefore } from "./credential_text.ts";
import { countOf, isChoppy } from "./secret_value.ts";

const SHORTEST_RANDOM = 24;
/** What is longer is media. */
const LONGEST_RANDOM = 1000;
const WORD = /^(?:[A-Z]?[a-z]{2,}|[A-Z]{2,}|\d+|[0-9a-f]{8,}|[0-9A-F]{8,})$/;
const PATH_PART = /^(?:[a-z]{3,}|[A-Z][a-z]{2,}|[A-Z]{5,})$/;
/** What the ids of Purser, of model providers and of Stripe begin with. */
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
/** The names of what is random and no credential. */
const ORDINARY_NAME = oneOf(
  String.raw`hash sha-?\d* digest checksum integrity e-?tag fingerprint cursor nonce commit revision`,
);
/** What comes before such a thing, an id, the content of a data URL or an encoded word of a mail. */
const BEFORE_ORDINARY = new RegExp(
  [
    String.raw`(?:;base64,|\?b\?)$`,
    String.raw`\b(?:sha\d{1,3}|h1|md5)[-:=]$`,
    String.raw`(?:${ORDINARY_NAME}|(?:\b|_)id)\\*["']?\s{0,3}[:=]\s{0,3}\\*["']?$`,
  ].join("|"),
  "i",
);
/** And before the id of a name like `requestId`. */
const BEFORE_CAMEL_ID = /[a-z]Id\\*["']?\s{0,3}[:=]\s{0,3}\\*["']?$/;

/** Finds a token that is long, of mixed classes and high entropy, and no ordinary thing. */
export function findRandom(text: string, from: number, end: number, add: Add): void {
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
      isRandom(token) && !isOrdinaryPlace(text, from, end) &&
      !isBehindOrdinary(tailBefore(text, start, 40))
    ) {
      const padding = /^={0,2}/.exec(text.slice(tokenEnd, tokenEnd + 2))![0];
      add({ kind: "high_entropy_token", start, end: tokenEnd + padding.length });
    }
    start = tokenEnd + 1;
  }
}

/** The bounds let most random tokens of 24 characters through, nearly all longer ones, and hardly a name. */
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

/** Whether a run is a line of wrapped base64, or of a URL: there a path or a parameter without a telling name. */
function isOrdinaryPlace(text: string, start: number, end: number): boolean {
  if (/[\w+/]{60,80}(?:\\r)?(?:\\n|\r?\n)[ \t]*$/.test(tailBefore(text, start, 100))) return true;
  const isLine = end - start >= 60 && end - start <= 80;
  if (isLine && /^(?:\\r)?(?:\\n|\r?\n)[ \t]*[\w+/=]/.test(text.slice(end, end + 20))) return true;
  const before = tailBefore(text, start + 2, 2000); // a run may begin with the slashes of a URL
  const host = Math.max(before.lastIndexOf("://"), before.lastIndexOf(":\\/\\/"));
  return host >= 0 && !/[\s"'`<>]|\\[nrt]/.test(before.slice(host));
}

/** Whether what a field holds may be random and no credential: a checksum, an id. */
export function isOrdinaryName(name: string): boolean {
  return isBehindOrdinary(`${name}:`);
}

function isBehindOrdinary(before: string): boolean {
  return BEFORE_ORDINARY.test(before) || BEFORE_CAMEL_ID.test(before);
}
