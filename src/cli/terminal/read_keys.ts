import type { Clock } from "../../kernel/clock.ts";

/** The timeout for the rest of an escape sequence; after it, Esc was the key Esc. */
const SEQUENCE_MS = 100;

/** Calls a listener whenever the terminal has got another size. Returns the function that ends this. */
export type OnResize = (listener: () => void) => () => void;

/**
 * Reads keys from a terminal in raw mode until its end, or until the signal aborts. `read` returns the next bytes, null at
 * the end; the last read may stay pending. A new size of the terminal is the key `resize`.
 */
export async function* readKeys(
  read: () => Promise<Uint8Array | null>,
  { clock, signal, onResize = () => () => {} }: {
    clock: Pick<Clock, "sleep">;
    signal: AbortSignal;
    onResize?: OnResize;
  },
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const aborted = Promise.withResolvers<null>();
  const onAbort = () => aborted.resolve(null);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  let resized = Promise.withResolvers<"resize">();
  const stopResizes = onResize(() => resized.resolve("resize"));
  try {
    let rest = "";
    let reading = read();
    while (true) {
      const input = await Promise.race([
        reading,
        aborted.promise,
        resized.promise,
        ...(rest ? [timeoutOf(reading, clock)] : []),
      ]);
      if (input === null) break;
      if (input === "resize") {
        resized = Promise.withResolvers();
        yield "resize";
        continue;
      }
      const text = input === "timeout" ? "" : decoder.decode(input, { stream: true });
      const decoded = decodeKeys(rest + text, { isAll: input === "timeout" });
      rest = decoded.rest;
      yield* decoded.keys;
      if (input !== "timeout") reading = read();
    }
    if (!signal.aborted) yield* decodeKeys(rest, { isAll: true }).keys;
  } finally {
    stopResizes();
    signal.removeEventListener("abort", onAbort);
  }
}

/** Resolves if no bytes arrive in time. */
async function timeoutOf(reading: Promise<unknown>, clock: Pick<Clock, "sleep">): Promise<"timeout"> {
  const done = new AbortController();
  reading.finally(() => done.abort()).catch(() => {});
  await clock.sleep(SEQUENCE_MS, done.signal);
  return "timeout";
}

/** Decoded keys, and the start of an incomplete escape sequence. */
export interface DecodedKeys {
  /** A character as itself, other keys by name: `left`, `page_down`, `escape`, `ctrl-c`, `alt-x`. */
  keys: string[];
  rest: string;
}

const ESC = "\x1b";

/** ECMA-48 control sequences as terminals send them, and the older ones that begin with `ESC O`. */
// deno-lint-ignore no-control-regex -- the pattern matches them
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
 * Decodes the keys in the input of a terminal in raw mode. A sequence may arrive in pieces: its start is returned as
 * `rest`, to be prepended to the next input. With `isAll` there is no more input, so a single Esc is the key Esc.
 * Modifiers of named keys are ignored, and so are sequences that stand for no key.
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
