import { PurserError } from "../../kernel/errors.ts";
import { nearestName } from "../../kernel/nearest_name.ts";
import { escapeText } from "../terminal/escape_text.ts";
import { UsageError } from "./usage_error.ts";

/** The number of ids that the refusal of an ambiguous name lists. */
const MAX_LISTED = 10;

/** A resource that a command may call by its name, if no other has that name. */
interface Named {
  id: string;
  name: string;
}

/** The words for the kind of things among which a name is looked up. */
interface Kind {
  /** `an alert rule`. */
  one: string;
  /** `rules`. */
  many: string;
  /** The command that lists them. */
  list: string;
}

/**
 * Returns the id of the only resource with a name.
 *
 * @throws {PurserError} `not_found`, with the nearest name
 * @throws {UsageError} where several have the name
 */
export function chooseByName(
  text: string,
  all: readonly Named[],
  { one, many, list }: Kind,
  command: string,
): string {
  const ids = all.filter(({ name }) => name === text).map(({ id }) => id);
  if (ids.length === 1) return ids[0]!;
  if (ids.length > 1) {
    const more = ids.length > MAX_LISTED ? ` and ${ids.length - MAX_LISTED} more` : "";
    throw new UsageError(
      `Cannot use the name ${JSON.stringify(text)}: ${ids.length} ${many} have it; give the id of one: ` +
        escapeText(ids.slice(0, MAX_LISTED).join(", ")) + more,
      command,
    );
  }
  const near = nearestName(text, all.map(({ name }) => name));
  throw new PurserError(
    "not_found",
    `Cannot find ${one} named ${JSON.stringify(text)}; ${
      near === undefined ? `${list} shows all` : `did you mean ${JSON.stringify(near)}?`
    }`,
  );
}
