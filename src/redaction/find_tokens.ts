import { type Add, FORMATS } from "./credential_finding.ts";
import { classAt, escapeLength, lettersAt, matchAt, tailBefore, wordsOf } from "./credential_text.ts";
import { findRandom } from "./find_random.ts";
import { isChoppy, isSecret } from "./secret_value.ts";

const FORMAT = new RegExp(
  Object.entries(FORMATS).map(([kind, form]) => `(?<${kind}>${form})`).join("|"),
  "y",
);
/** The shortest run that can hold a known format. */
const SHORTEST_RUN = 20;
/** What the known formats begin with: few other runs begin so. */
const FORMAT_STARTS = wordsOf(
  "sk rk AI GO ya xa xo gs hf AK AS gh gi gl wh SK SG np py ps ey fi li nt r8 sn dd ls do sb ru sh da ke fc e2 pp tv " +
    "nv dc AT sq PM NR hv dp AG",
);
const STARTS = new Uint8Array(1 << 10);
for (const start of FORMAT_STARTS) STARTS[lettersAt(start, 0, 2)] = 1;

/**
 * Finds known formats and random tokens in the runs of letters, digits and `-_+/`. Looks first at where a long
 * enough run would end: most of ordinary prose is never looked at.
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

/** The known formats in a run, where they may follow a slash or a plus sign as well. */
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

/** Where a token with dots begins, such as `SG.…`, whose run is what follows the dot. */
function startOfDotted(text: string, at: number): number {
  const prefix = /(?:(?<![\w.-])|(?<=\\[nrt]))(?:SG|ya29|hv[bs]|dp\.[a-z]{2})\.$/.exec(
    tailBefore(text, at, 9),
  );
  return at - (prefix?.[0].length ?? 0);
}

/** A made-up key of a manual: `sk-ant-xxxxxxxxxxxxxxxx`, `sk-proj-your-key-here`. */
function isDummy(key: string): boolean {
  return new Set(key.slice(-16)).size < 5 || /your[-_]|[-_]here\b|placeholder|redacted|x{6}/i.test(key);
}

const AFTER_SCHEME = /\b(bearer|basic)(?:\s|%20|\+)+$/i;
const SCHEME_TOKEN = /[\w.~+/-]+=*/y;

/** A token without a known format: what follows `Bearer`, or looks random. */
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
