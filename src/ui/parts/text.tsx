import { escapeLines, escapeText } from "../../kernel/text.ts";

/**
 * A text of a model, a tool or a client, such as the name of an agent. Control, bidirectional and invisible characters are
 * shown escaped. Every such text goes through here, also one in an attribute: `title={escapeText(name)}`.
 */
export function Text({ children, lines = false }: { children: string; lines?: boolean }) {
  return <>{lines ? escapeLines(children) : escapeText(children)}</>;
}

/** An identifier, in a font of one width. */
export function Id({ children }: { children: string }) {
  return <code class="id">{escapeText(children)}</code>;
}

/** Any value as JSON, or a text as it is, in a block that scrolls. */
export function Block({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
  return <pre class="block" tabIndex={0} role="region" aria-label={label}>{escapeLines(text)}</pre>;
}
