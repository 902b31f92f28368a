import type { Clock } from "../../kernel/clock.ts";

/** How long the rest of a sequence may take; after that, Esc was the key Esc. */
const PATIENCE_MS = 100;

/**
 * Reads keys from a terminal in raw mode until its end, or the signal. `read` gives the next bytes, null at
 * the end; one read may stay unanswered.
 */
export async function* readKeys(
  read: () => Promise<Uint8Array | null>,
  { clock, signal }: { clock: Pick<Clock, "sleep">; signal: AbortSignal },
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const aborted = Promise.withResolvers<null>();
  const onAbort = () => aborted.resolve(null);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    let rest = "";
    let reading = read();
    while (true) {
      const came = await Promise.race([
        reading,
        aborted.promise,
        ...(rest ? [waitedFor(reading, clock)] : []),
      ]);
      if (came === null) break;
      const text = came === "waited" ? "" : decoder.decode(came, { stream: true });
      const decoded = decodeKeys(rest + text, { isAll: came === "waited" });
      rest = decoded.rest;
      yield* decoded.keys;
      if (came !== "waited") reading = read();
    }
    if (!signal.aborted) yield* decodeKeys(rest, { isAll: true }).keys;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Resolves when nothing has come in time. */
async function waitedFor(reading: Promise<unknown>, clock: Pick<Clock, "sleep">): Promise<"waited"> {
  const done = new AbortController();
  reading.finally(() => done.abort()).catch(() => {});
  await clock.sleep(PATIENCE_MS, done.signal);
  return "waited";
}

/** Keys that were typed, and the beginning of a sequence whose end has not come yet. */
export interface DecodedKeys {
  /** A character as itself, other keys by name: `left`, `page_down`, `escape`, `ctrl-c`, `alt-x`. */
  keys: string[];
  rest: string;
}

const ESC = "\x1b";

/** ECMA-48 control sequences as terminals send them, and the older ones that begin with `ESC O`. */
// deno-lint-ignore no-control-regex -- they are what is looked for
const SEQUENCE = /^\x1b(?:\[(\[?)([0-?]*)[ -/]*([@-Z\\-~])|O([0-9;]*)([@-~]))/;
// deno-lint-ignore no-control-regex -- as above
const BEGINNING = /^\x1b(?:\[\[?[0-?]*[ -/]*|O[0-9;]*)?$/;

const BY_LETTER: Record<string, string> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  M: "enter",
  Z: "tab",
};

const BY_NUMBER: Record<string, string> = {
  1: "home",
  2: "insert",
  3: "delete",
  4: "end",
  5: "page_up",
  6: "page_down",
  7: "home",
  8: "end",
};

const BY_CHARACTER: Record<string, string> = {
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  "\b": "backspace",
  "\x7f": "backspace",
};

/**
 * Tells keys from what a terminal in raw mode sends. A sequence may come in pieces: its beginning is handed
 * back, to be put before what comes next. With `isAll` nothing comes next, so a lone Esc is the key Esc.
 * Modifiers of a named key are passed over, and so are sequences that are no key.
 */
export function decodeKeys(text: string, { isAll = false } = {}): DecodedKeys {
  const keys: string[] = [];
  let rest = text;
  while (rest !== "") {
    if (rest[0] !== ESC) {
      const character = String.fromCodePoint(rest.codePointAt(0)!);
      keys.push(nameOf(character));
      rest = rest.slice(character.length);
      continue;
    }
    const sequence = SEQUENCE.exec(rest);
    if (sequence) {
      const key = keyOf(sequence);
      if (key) keys.push(key);
      rest = rest.slice(sequence[0].length);
    } else if (!isAll && BEGINNING.test(rest)) {
      break;
    } else if (rest.length === 1 || rest[1] === ESC) {
      keys.push("escape");
      rest = rest.slice(1);
    } else {
      const character = String.fromCodePoint(rest.codePointAt(1)!);
      keys.push(`alt-${nameOf(character)}`);
      rest = rest.slice(1 + character.length);
    }
  }
  return { keys, rest };
}

function keyOf([, bracket, numbers = "", letter = "", , oldLetter]: RegExpExecArray): string | undefined {
  if (bracket) return undefined; // a function key of Linux's console
  if (oldLetter !== undefined) return BY_LETTER[oldLetter];
  return letter === "~" ? BY_NUMBER[numbers.split(";")[0]!] : BY_LETTER[letter];
}

function nameOf(character: string): string {
  const code = character.charCodeAt(0);
  return BY_CHARACTER[character] ??
    (code < 32 ? `ctrl-${String.fromCharCode(code + 64).toLowerCase()}` : character);
}
