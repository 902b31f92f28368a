import { SUBJECT_TAGS, tagIssues, tagKeyOf } from "../../contract/tags/tags.ts";
import { nearestName } from "../../kernel/nearest_name.ts";
import type { Options } from "./options.ts";

/** Returns the tags of `--tag key=value`, repeated for more; undefined without any. Throws a `UsageError`. */
export function readTags(options: Options): Record<string, string> | undefined {
  return options.read("tag", () => {
    const tags: Record<string, string> = {};
    for (const text of options.texts("tag")) {
      const split = text.indexOf("=");
      if (split < 1) throw new Error(`${text || "an empty value"} is not of the form key=value`);
      const key = text.slice(0, split);
      if (Object.hasOwn(tags, key)) throw new Error(`${key} is given twice`);
      tags[key] = text.slice(split + 1);
    }
    const [issue] = tagIssues(tags);
    if (issue) throw new Error([issue.path, issue.message].filter(Boolean).join(": "));
    return tags;
  });
}

/** The tags that have a short name as groups: `project` is `tag:project`. The last ones are of imported calls. */
export const NAMED_TAGS = [...SUBJECT_TAGS, "branch", "machine"] as const;

/** Returns the group of an option: one of a list, or a tag as `tag:customer`. Throws a `UsageError`. */
export function readGroup<const T extends string>(
  options: Options,
  name: string,
  groups: readonly T[],
): T | `tag:${string}` | undefined {
  return options.read(name, (text) => {
    const found = groups.find((group) => group === text);
    if (found !== undefined) return found;
    if ((NAMED_TAGS as readonly string[]).includes(text)) return `tag:${text}` as const;
    if (tagKeyOf(text) !== undefined) return text as `tag:${string}`;
    const near = nearestName(text, [...groups, ...NAMED_TAGS]);
    const hint = near === undefined ? "" : `; did you mean ${near}?`;
    throw new Error(
      `${text || "an empty value"} is not one of ${[...groups, ...NAMED_TAGS].join(", ")}, tag:KEY${hint}`,
    );
  });
}
