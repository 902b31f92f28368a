import { NAME_PATTERN, NAME_RULE } from "../../kernel/ids.ts";
import { UsageError } from "./usage_error.ts";

const RULE = `an id has ${NAME_RULE}`;

/** An agent's or a session's id as it was typed. Throws on what can't be one: it would be another URL. */
export function checkId(text: string): string {
  if (NAME_PATTERN.test(text)) return text;
  throw new Error(RULE);
}

/** The id that a command has as its argument. Throws a `UsageError`. */
export function readId({ args, options }: { args: readonly string[]; options: { command: string } }): string {
  const text = args[0]!;
  if (NAME_PATTERN.test(text)) return text;
  throw new UsageError(`Cannot use ${JSON.stringify(text)} as an id: ${RULE}`, options.command);
}

/** An id as part of a URL. Hono's client takes a last part `index` away, so that name is written otherwise. */
export function idInPath(id: string): string {
  return id === "index" ? "%69ndex" : encodeURIComponent(id);
}
