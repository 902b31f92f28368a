/** Describes tags: `team=search, customer=acme`; empty without any. */
export function formatTags(tags: Readonly<Record<string, string>> = {}): string {
  return Object.entries(tags).map(([key, value]) => `${key}=${value}`).join(", ");
}
