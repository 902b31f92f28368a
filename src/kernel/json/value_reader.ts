export const QUOTE = 0x22;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Collects the text of one value or key across chunks; each character is read once. */
export class ValueReader {
  startOffset = 0;
  keyCount = 0;
  isDone = false;
  #pieces: string[] = [];
  #length = 0;
  #depth = 0;
  #isWord = false;
  #isInString = false;
  /** True if the previous chunk ended in a string, within an escape. */
  #isEscaped = false;

  constructor(
    private readonly limits: {
      maxDepth: number;
      maxLength: number;
      refuseDepth: (at: number) => never;
      refuseLength: (at: number) => never;
    },
  ) {}

  /** Starts a value whose first character, `unit`, is not read yet. */
  begin(startOffset: number, unit: number): void {
    this.startOffset = startOffset;
    this.keyCount = 0;
    this.isDone = false;
    this.#isWord = unit !== QUOTE && !isOpening(unit);
  }

  /** Reads from `start`, and returns the end: after the value, or the end of the chunk. */
  read(chunk: string, start: number): number {
    let at = start;
    if (this.#isWord) at = this.#readWord(chunk, at);
    while (at < chunk.length && !this.isDone) {
      at = this.#isInString ? this.#readString(chunk, at) : this.#readBrackets(chunk, at);
    }
    this.#length += at - start;
    if (this.#length > this.limits.maxLength) this.limits.refuseLength(at);
    this.#pieces.push(chunk.slice(start, at));
    return at;
  }

  take(): string {
    const text = this.#pieces.length === 1 ? this.#pieces[0]! : this.#pieces.join("");
    this.#pieces = [];
    this.#length = 0;
    return text;
  }

  /** Reads a number or a literal; it is complete when another character follows. */
  #readWord(chunk: string, start: number): number {
    let at = start;
    while (at < chunk.length && isWordUnit(chunk.charCodeAt(at))) at++;
    this.isDone = at < chunk.length;
    return at;
  }

  /** Reads up to the next string, or to the end of the value. */
  #readBrackets(chunk: string, start: number): number {
    let depth = this.#depth;
    let keyCount = this.keyCount;
    let at = start;
    while (at < chunk.length) {
      const unit = chunk.charCodeAt(at++);
      if (unit === QUOTE) {
        this.#isInString = true;
        break;
      } else if (unit === COLON) keyCount++;
      else if (isOpening(unit)) {
        if (++depth > this.limits.maxDepth) this.limits.refuseDepth(at - 1);
      } else if ((unit === CLOSE_BRACE || unit === CLOSE_BRACKET) && --depth === 0) {
        this.isDone = true;
        break;
      }
    }
    this.#depth = depth;
    this.keyCount = keyCount;
    return at;
  }

  /** Reads up to and including the closing quote: the first with an even number of backslashes before it. */
  #readString(chunk: string, start: number): number {
    let from = this.#isEscaped ? start + 1 : start;
    this.#isEscaped = false;
    for (;;) {
      const quote = chunk.indexOf('"', from);
      const end = quote < 0 ? chunk.length : quote;
      const isEscaped = endsEscaping(chunk, from, end);
      if (quote < 0) {
        this.#isEscaped = isEscaped;
        return end;
      }
      from = quote + 1;
      if (!isEscaped) {
        this.#isInString = false;
        this.isDone = this.#depth === 0;
        return from;
      }
    }
  }
}

/** Returns whether the character at `end` is escaped, if that at `from` is not: after an odd number of backslashes. */
function endsEscaping(chunk: string, from: number, end: number): boolean {
  let at = end;
  while (at > from && chunk.charCodeAt(at - 1) === BACKSLASH) at--;
  return (end - at) % 2 === 1;
}

export function isOpening(unit: number): boolean {
  return unit === OPEN_BRACE || unit === OPEN_BRACKET;
}

/** Matches the characters of numbers and literals: letters, digits and + - . */
export function isWordUnit(unit: number): boolean {
  const letter = unit | 0x20;
  return (unit >= 0x30 && unit <= 0x39) || (letter >= 0x61 && letter <= 0x7a) ||
    unit === 0x2b || unit === 0x2d || unit === 0x2e;
}
