/**
 * Parses JSON with the text of each number in place of the number: a double holds 17 digits of it, and amounts have more. Texts and
 * numbers are then read alike. Needs the source text of `JSON.parse` (ECMAScript 2026), which V8 has since 11.4.
 *
 * @throws {SyntaxError} the text is not JSON
 */
export function parseWithNumberTexts(text: string): unknown {
  const keepText = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" ? context!.source! : value;
  return JSON.parse(text, keepText as (key: string, value: unknown) => unknown);
}
