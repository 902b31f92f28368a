import { isRecord } from "./records.ts";

/** The longest chain of causes that is followed. */
const MAX_LINKS = 10;

/** Returns an error and its causes, outermost first. Anything may have been thrown. */
export function linksOf(error: unknown): Record<string, unknown>[] {
  const links: Record<string, unknown>[] = [];
  for (let link = error; isRecord(link) && links.length < MAX_LINKS; link = link.cause) links.push(link);
  return links;
}
