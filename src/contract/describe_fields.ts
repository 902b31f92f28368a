import type { AuditEntry } from "./service.ts";

/** Describes the fields of an entry of the audit log: `limit_usd 50 → 80`, or `limit_usd 50` of what is new or removed. */
export function describeFields({ before, after }: Pick<AuditEntry, "before" | "after">): string[] {
  return Object.keys({ ...before, ...after }).map((name) => {
    const texts = [before, after].flatMap((fields) => fields ? [JSON.stringify(fields[name] ?? null)] : []);
    return `${name} ${texts.join(" → ")}`;
  });
}
