import { NAME_PATTERN, NAME_RULE } from "../../kernel/ids.ts";
import { LABEL_PATTERN } from "../../contract/limits.ts";
import { UsageError } from "./usage_error.ts";

const RULE = `an id has ${NAME_RULE}`;

/** Returns an id as it was typed. Throws on an invalid one, which would change the request's URL. */
export function checkId(text: string): string {
  if (NAME_PATTERN.test(text)) return text;
  throw new Error(RULE);
}

/** Returns the id that is a command's argument. Throws a `UsageError`. */
export function readId({ args, options }: { args: readonly string[]; options: { command: string } }): string {
  const text = args[0]!;
  if (NAME_PATTERN.test(text)) return text;
  throw new UsageError(`Cannot use ${JSON.stringify(text)} as an id: ${RULE}`, options.command);
}

/** Returns the id of a call that is a command's argument: of a reported call, any label. Throws a `UsageError`. */
export function readCallId(
  { args, options }: { args: readonly string[]; options: { command: string } },
): string {
  const text = args[0]!;
  // A URL would resolve the dots.
  if (LABEL_PATTERN.test(text) && !/^\.\.?$/.test(text)) return text;
  throw new UsageError(`Cannot use ${JSON.stringify(text)} as the id of a call`, options.command);
}

/** Encodes an id for a URL's path. Hono's client drops a final segment `index`, so that name is encoded too. */
export function idInPath(id: string): string {
  return id === "index" ? "%69ndex" : encodeURIComponent(id);
}
