import { oneOf } from "./credential_text.ts";
import type { Trust } from "./find_assignments.ts";

const STANDS_FOR_ONE = new RegExp(
  [
    String.raw`^[<[({]|^\$[A-Za-z_{(]|^%[A-Za-z({]|^@[A-Za-z]+$|\$\{|\{\{|#\{`, // <KEY>, ${KEY}, $KEY, %(key)s
    String.raw`^${oneOf("env op vault file ref secret secrets arn keyring gcp ssm projects")}[:/]|^\w+://`,
    String.raw`[*•●]{3}|\.{3}|…|^(.)\1*$|x{4}`, // masks
    String.raw`^your[-_ ]?|[-_]here$|placeholder|change_?me|redacted|^[A-Z]+(?:[_-][A-Z]+)+$`, // YOUR_API_KEY
    String.raw`^(?:required|nullable|sometimes|string)\|`, // the rules of a form
  ].join("|"),
);

/** Returns true for a placeholder: `<API_KEY>`, `${TOKEN}`, `****`, a reference to a vault. */
export function isPlaceholder(value: string): boolean {
  return value === "" || STANDS_FOR_ONE.test(value);
}

/** The context of a value. */
export interface ValueContext {
  readonly name: string;
  readonly trust: Trust;
  readonly isQuoted: boolean;
  /** In a configuration or in a URL, see `isAssignedPlainly()`. */
  readonly isPlain?: boolean;
  /** Behind the scheme of an Authorization header. */
  readonly isScheme?: boolean;
}

/** Letters and word joiners. */
const WORDS = /^[\p{L}\p{M}.,:;!?'’_/=-]+$/u;
const FILE_PATH = /^(?:~|\.{0,2}|[A-Za-z]:)[\\/](?:[\w. -]+(?:[\\/]|$))+/;
/** Code without quotes: `user.password`, `Uint8Array`, `ec2Key`, `KEY_OF_S3`. */
const CODE = new RegExp(
  [
    String.raw`^[A-Za-z_$][\w$]*(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*)+$`,
    String.raw`^(?:u?int|float|big|string|base|utf|sha|hmac|md|o?auth|(?:var)?char|bytes?)-?\d\w*$`,
    String.raw`^[A-Za-z_$][\w$]*(?:key|token|secret|password|passwd|credentials?)$`,
  ].join("|"),
  "i",
);
const CONSTANT = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/;
const CAMEL_NAME = /^[A-Z]?[a-z0-9]+(?:[A-Z][a-z0-9]{2,}){2,}$/;
/** `password=none` is none, and `api_key=my_api_key` passes a variable. */
const STOP_WORDS = oneOf(
  "str string text none null nil undefined true false yes no required optional hidden invalid missing empty default " +
    "example demo test auto basic bearer",
);
const OWNERS = oneOf("my your the user test some db api access secret auth new old client private public");
const NOUNS = oneOf("password passwd pwd pass secret token key credential");
const STOP_WORD = new RegExp(`^(?:${STOP_WORDS}|(?:${OWNERS}[_-]?)*${NOUNS}s?)$`, "i");

/** Returns true for a value that looks like a secret, given the trust in its name. */
export function isSecret(
  value: string,
  { name, trust, isQuoted, isPlain = false, isScheme = false }: ValueContext,
): boolean {
  if (isPlaceholder(value) || /\s/.test(value) || FILE_PATH.test(value) || isSameName(value, name)) {
    return false;
  }
  if (/^[\d.,:/+-]*$/.test(value)) return trust === "strong" && /^\d{6,}$/.test(value);
  if (WORDS.test(value)) {
    if (value.length >= 12 && isChoppy(value)) return isQuoted || isPlain || isScheme; // random letters
    return isPlain && value.length >= (trust === "strong" ? 4 : 12) && !STOP_WORD.test(value);
  }
  if (!isQuoted && !isPlain && (CODE.test(value) || CONSTANT.test(value))) return false;
  if (trust === "strong") return value.length >= 6;
  if (trust === "authorization") return value.length >= (isScheme ? 6 : 12);
  if (/^(?:auth|pass)$/i.test(name) && !isQuoted && !isPlain) return false; // `PASS: TestSum/case1`
  const isName = CAMEL_NAME.test(value) ||
    value.split(/[-_./:]/).every((part) => /^(?:[a-z]*|\d*)$/i.test(part));
  return value.length >= 8 && /^[\w.~+/=:@!#$%^&*-]*$/.test(value) && /[A-Za-z]/.test(value) &&
    /\d/.test(value) && !isName;
}

/** Returns true for a value that repeats its name: `options.token = token`. */
function isSameName(value: string, name: string): boolean {
  const plain = (text: string) => text.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
  return plain(name).endsWith(plain(value));
}

/** Matches the words of names, which have more than three characters on average. */
const PIECE = /[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+/g;
/** Returns true if letters and digits alternate more often than in names. */
export function isChoppy(token: string): boolean {
  return token.length <= 2.8 * countOf(PIECE, token);
}

/** Counts the matches of a global pattern. */
export function countOf(pattern: RegExp, text: string): number {
  return text.match(pattern)?.length ?? 0;
}
