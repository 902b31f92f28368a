/** The longest chain of causes that is followed. */
const MAX_LINKS = 10;

/** Returns true for an object, whose fields may be read. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Returns an error and its causes, outermost first. Anything may have been thrown. */
export function linksOf(error: unknown): Record<string, unknown>[] {
  const links: Record<string, unknown>[] = [];
  for (let link = error; isRecord(link) && links.length < MAX_LINKS; link = link.cause) links.push(link);
  return links;
}
