import { PurserError } from "../../kernel/errors.ts";
import type { Issue } from "../schema_issues.ts";

/*
 * The tags of agents, runs and calls, by which costs are attributed. Without zod, which commands don't load; the schemas are
 * in tag_schemas.ts.
 */

/** Values by key. */
export type Tags = Readonly<Record<string, string>>;

/**
 * The limits of tags: of one agent, run, report or API key, and of a call, which has its own and those of its API key. A key has no
 * character with a meaning in a query, a command line or a JSON path.
 */
export const TAG_LIMITS = { tags: 10, ofCall: 20, key: "[A-Za-z0-9_.-]{1,40}", value: 100 } as const;

/** The names of tags by which people are meant: who has called, and for whom. Any other name works as well. */
export const SUBJECT_TAGS = ["user", "team", "project", "customer"] as const;

const KEY = new RegExp(`^${TAG_LIMITS.key}$`);
const VALUE = new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${TAG_LIMITS.value}}$`, "u");

export const TAG_KEY_RULE = "a tag's key must be 1 to 40 letters, digits, underscores, dots and hyphens";
export const TAG_VALUE_RULE =
  `a tag's value must be 1 to ${TAG_LIMITS.value} characters, none of them a control character`;

/** Lists what is wrong with tags. */
export function tagIssues(tags: unknown, most: number = TAG_LIMITS.tags): Issue[] {
  if (typeof tags !== "object" || tags === null || Array.isArray(tags)) {
    return [{ path: "", message: "must be an object whose values are texts" }];
  }
  const entries = Object.entries(tags);
  if (entries.length > most) return [{ path: "", message: `must have at most ${most} tags` }];
  return [
    // JSON can have the key __proto__, and an object can't always keep it.
    ...entries.filter(([key]) => !KEY.test(key) || key === "__proto__")
      .map(([key]) => ({ path: key, message: TAG_KEY_RULE })),
    ...entries.filter(([, value]) => typeof value !== "string" || !VALUE.test(value))
      .map(([key]) => ({ path: key, message: TAG_VALUE_RULE })),
  ];
}

/** Returns the tags of a program. Throws `invalid`, naming the first that is not valid. */
export function checkTags(tags: Tags, what: string): Tags {
  const [issue] = tagIssues(tags);
  if (!issue) return tags;
  const { path, message } = issue;
  throw new PurserError("invalid", `Cannot use the tags of ${what}: ${path ? `${path}: ` : ""}${message}`, {
    details: { issues: [{ path: path ? `tags.${path}` : "tags", message }] },
  });
}

/** Returns a text as the value of a tag: without control characters, and cut to its length; empty where nothing is left. */
export function toTagValue(text: string): string {
  // deno-lint-ignore no-control-regex
  const plain = text.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
  return [...plain].slice(0, TAG_LIMITS.value).join("");
}

/** Returns tags whose values are scrubbed of secrets. */
export function scrubTags(tags: Tags, { scrub }: { scrub(text: string): string }): Tags {
  return Object.fromEntries(Object.entries(tags).map(([key, value]) => [key, scrub(value)]));
}

/** Returns the tags of a reported call: its own, and those of its agent that it lacks, as far as their number allows. */
export function withAgentTags(own: Tags, ofAgent: Tags): Tags {
  const lacking = Object.entries(ofAgent).filter(([key]) => !Object.hasOwn(own, key))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries([...Object.entries(own), ...lacking].slice(0, TAG_LIMITS.tags));
}

/** Returns the tags of a call under an API key: its own, and those of the key, which replace those of the same name. */
export const withKeyTags = (own: Tags, ofKey: Tags | undefined): Tags => ofKey ? { ...own, ...ofKey } : own;

/** A group of cost reports by a tag. */
export type TagGroup = `tag:${string}`;

/** Returns the key of a group by a tag; undefined for another group. */
export function tagKeyOf(group: string): string | undefined {
  const key = group.startsWith("tag:") ? group.slice("tag:".length) : "";
  return KEY.test(key) ? key : undefined;
}

/** Returns tags with sorted keys, as they are stored: equal tags are one text. */
export function sortTags(tags: Tags): Record<string, string> {
  return Object.fromEntries(Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns tags as the JSON that is stored. */
export function tagsText(tags: Tags): string {
  const keys = Object.keys(tags);
  // Nearly always they are sorted.
  return JSON.stringify(
    keys.every((key, index) => index === 0 || keys[index - 1]! < key) ? tags : sortTags(tags),
  );
}
