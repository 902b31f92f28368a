import type { Add } from "./credential_finding.ts";
import { matchAt, tailBefore } from "./credential_text.ts";

const KEY_MARKER = /-----(BEGIN|END) (?:[A-Z0-9]+ ){0,3}$/;
const KEY_MARKER_REST = /PRIVATE KEY(?: BLOCK)?-----/y;
const KEY_GAP = String.raw`(?:[\s"'${"`"},>|]|\\[nrt]?|\+(?=[\s\\]))*`;
const KEY_HEADER = String.raw`[A-Z][A-Za-z]{1,20}(?:-[A-Za-z]{1,20})?: [^\n\\]{1,99}`;
const KEY_LINE = new RegExp(`${KEY_GAP}(?:${KEY_HEADER}|[A-Za-z0-9+/=]{32,})`, "y");
const KEY_LAST_LINE = new RegExp(`${KEY_GAP}[A-Za-z0-9+/=]{1,31}(?=${KEY_GAP}(?:-----END|…|[.]{3}|$))`, "y");
const KEY_END = new RegExp(`${KEY_GAP}-----END(?: [A-Z0-9 ]{1,40}-----|[A-Z0-9 -]{0,40}$)`, "y");
const KEY_BREAK = String.raw`(?:\\{1,3}r)?(?:\\{1,3}n|\r?\n)`;
const KEY_TAIL = new RegExp(`(?:[A-Za-z0-9+/=]{40,100}${KEY_BREAK})+(?:[A-Za-z0-9+/=]{1,100}${KEY_BREAK})?$`);

/** Finds PEM blocks, also truncated ones, and those with line breaks written as `\n`. */
export function findPrivateKeys(text: string, add: Add): void {
  let done = 0;
  for (let at = text.indexOf("PRIVATE KEY"); at >= 0; at = text.indexOf("PRIVATE KEY", at + 1)) {
    const marker = at >= done && KEY_MARKER.exec(tailBefore(text, at, 40));
    const rest = marker && matchAt(KEY_MARKER_REST, text, at);
    if (!rest) continue;
    const edge = at - marker[0].length;
    const body = at + rest[0].length;
    const start = marker[1] === "BEGIN" ? edge : edge - lengthOfTail(text, edge, done);
    const end = marker[1] === "BEGIN" ? endOfKey(text, body) : body;
    done = end;
    if (start === edge && end === body) continue; // a marker without a key, as in code that looks for one
    add({ kind: "private_key", start, end });
  }
}

function endOfKey(text: string, body: number): number {
  let end = body;
  const extend = (part: RegExp) => {
    const match = matchAt(part, text, end);
    end += match?.[0].length ?? 0;
    return match !== null;
  };
  while (extend(KEY_LINE));
  if (end === body) return body;
  extend(KEY_LAST_LINE);
  extend(KEY_END);
  return end;
}

/** Returns the length of a key before its end marker, where its beginning is cut off. */
function lengthOfTail(text: string, at: number, from: number): number {
  return KEY_TAIL.exec(tailBefore(text, at, Math.min(8000, at - from)))?.[0].length ?? 0;
}
