import { z } from "@hono/zod-openapi";
import { PRINTABLE } from "../limits.ts";
import { Time } from "../parts.ts";
import {
  TAG_KEY_RULE,
  TAG_LIMITS,
  TAG_VALUE_RULE,
  type TagGroup as TagGroupText,
  tagIssues,
} from "./tags.ts";

/** The wire schemas of tags. */

// Not a record, which would silently drop a key __proto__.
const upTo = (most: number) =>
  z.custom<Readonly<Record<string, string>>>().superRefine((tags, ctx) => {
    for (const { path, message } of tagIssues(tags, most)) {
      ctx.addIssue({ code: "custom", path: path ? [path] : [], message });
    }
  }).openapi({
    type: "object",
    maxProperties: most,
    ...{ propertyNames: { type: "string", pattern: `^${TAG_LIMITS.key}$` } }, // which the types leave out
    additionalProperties: {
      type: "string",
      minLength: 1,
      maxLength: TAG_LIMITS.value,
      pattern: `^${PRINTABLE}*$`,
    },
    description: `At most ${most} tags; ${TAG_KEY_RULE}, ${TAG_VALUE_RULE}`,
    example: { customer: "acme", feature: "search" },
  });

export const Tags = upTo(TAG_LIMITS.tags);

/** The tags of a call: its own, and those of its API key. */
export const CallTags = upTo(TAG_LIMITS.ofCall);

/** A group of cost reports by a tag. */
export const TagGroup = z.string().regex(
  new RegExp(`^tag:${TAG_LIMITS.key}$`),
  "must be a group, or tag: and the key of a tag",
) as unknown as z.ZodType<TagGroupText, TagGroupText>;

export const TagKey = z.object({
  tag_key: z.string().openapi({ example: "customer" }),
  last_used_at: Time.openapi({ description: "The time of the newest call with a tag of this key" }),
}).openapi("TagKey", { description: "The key of tags that calls have" });
export type TagKey = z.infer<typeof TagKey>;
