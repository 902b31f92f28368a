const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * A text as Slack shows it and nothing more: `&`, `<` and `>` escaped, so that there is neither a link nor a
 * `<!channel>`, and the words that call people parted by a zero-width space. Cut to `max` UTF-16 units as they
 * are sent, never within an entity or a surrogate pair, with `…` at the end. One line, or `–` for nothing.
 */
export function escapeText(text: string, max: number): string {
  const plain = text.slice(0, max + 1).toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]+/gu, " ").trim()
    .replace(/@(?=here|channel|everyone)/gi, "@\u200B");
  let escaped = "";
  for (const char of plain) {
    const next = ENTITIES[char] ?? char;
    if (escaped.length + next.length > max - 1) return escaped + "…";
    escaped += next;
  }
  return escaped || "–";
}
