import { findNodeAtLocation, parse, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

/** Parses JSON with comments and trailing commas. Throws the error that `refuse` creates from line, column and fault. */
export function parseJsonc(text: string, refuse: (reason: string) => Error): unknown {
  const json = withoutByteOrderMark(text);
  const errors: ParseError[] = [];
  const written: unknown = parse(json, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (!error) return written;
  const { line, column } = positionAt(json, error.offset);
  throw refuse(`line ${line}, column ${column}: ${spellOut(printParseErrorCode(error.error))}`);
}

/** Returns the line of the value at a path, or of the nearest one around it. */
export function lineOfPath(text: string, path: readonly (string | number)[]): number {
  const json = withoutByteOrderMark(text);
  const root = parseTree(json, [], { allowTrailingComma: true });
  if (!root) return 1;
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(root, path.slice(0, length));
    if (node) return positionAt(json, node.offset).line;
  }
  return 1;
}

/** Removes the byte order mark that some editors put in front. */
export function withoutByteOrderMark(text: string): string {
  return text.replace(/^\uFEFF/, "");
}

function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split(/\r\n|\r|\n/);
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
}

/** `CommaExpected` as `comma expected`. */
function spellOut(code: string): string {
  return code.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}
