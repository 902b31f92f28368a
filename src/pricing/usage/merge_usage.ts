import { type Fields, isFields } from "./fields.ts";

/**
 * Adds a later report of the usage of an answer to the earlier ones. The counts of all APIs are those of the answer so far, so a
 * later one replaces an earlier one. A 0, a null or a missing field says nothing: servers of an API begin or end with those.
 * https://platform.claude.com/docs/en/build-with-claude/streaming ("The token counts … are cumulative")
 */
export function mergeUsage(before: Fields, later: Fields): Fields {
  const merged: Fields = { ...before };
  for (const [name, value] of Object.entries(later)) merged[name] = mergeValue(before[name], value);
  return merged;
}

function mergeValue(before: unknown, later: unknown): unknown {
  if (before === null || before === undefined) return later;
  if (later === null || later === undefined) return before;
  if (isFields(before) && isFields(later)) return mergeUsage(before, later);
  if (Array.isArray(before) && Array.isArray(later)) return mergeLists(before, later);
  // Anything but a count says nothing of one; some servers write an empty object as an empty list.
  if (typeof before === "object") return before;
  return typeof before === "number" && (typeof later !== "number" || later === 0) && !isFields(later)
    ? before
    : later;
}

/** Merges lists such as those of modalities and iterations, which have one entry for each of them. */
function mergeLists(before: readonly unknown[], later: readonly unknown[]): unknown[] {
  const isByModality = [...before, ...later].every((entry) =>
    isFields(entry) && typeof entry.modality === "string"
  );
  if (!isByModality) {
    return Array.from(
      { length: Math.max(before.length, later.length) },
      (_, i) => mergeValue(before[i], later[i]),
    );
  }
  const merged = new Map<unknown, Fields>();
  for (const entry of [...before, ...later] as Fields[]) {
    const known = merged.get(entry.modality);
    merged.set(entry.modality, known ? mergeUsage(known, entry) : entry);
  }
  return [...merged.values()];
}
