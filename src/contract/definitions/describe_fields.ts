import type { AuditEntry } from "../service.ts";

/** Describes the fields of an entry of the audit log, ids last: `limit_usd 50 → 80`, or `limit_usd 50` of what is new or removed. */
export function describeFields({ before, after }: Pick<AuditEntry, "before" | "after">): string[] {
  const isId = (name: string) => Number(name.endsWith("_id"));
  return Object.keys({ ...before, ...after }).toSorted((a, b) => isId(a) - isId(b)).map((name) => {
    const texts = [before, after].flatMap((fields) => fields ? [JSON.stringify(fields[name] ?? null)] : []);
    return `${name} ${texts.join(" → ")}`;
  });
}
