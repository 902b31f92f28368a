import { and, desc, eq, gte, lt, or } from "drizzle-orm";
import type { AuditEntry } from "../../contract/service.ts";
import type { AuditKind } from "../../contract/values.ts";
import { toIso } from "../../kernel/clock.ts";
import { type Query, tables } from "../../store/mod.ts";

/** Reads of the audit log: who has changed which limit, rule, key, agent or price. `auditEntry()` of the store writes it. */

const { auditEntries } = tables;

/** The entries to list. */
interface AuditFilter {
  kind?: AuditKind | undefined;
  /** The id of what was changed, or its name at that time. */
  subject?: string | undefined;
  /** The id of an API key, its name at that time, `user@host`, or a kind of actor. */
  by?: string | undefined;
  /** Inclusive, in milliseconds since the epoch. */
  from?: number | undefined;
  /** Exclusive. */
  to?: number | undefined;
  /** The position of the last entry of the previous page. */
  before?: number | undefined;
  limit: number;
}

/** Lists the entries of the audit log, newest first. */
export async function listAudit(
  { query }: { query: Query },
  { kind, subject, by, from, to, before, limit }: AuditFilter,
): Promise<AuditEntry[]> {
  const { position, at, keyId, actorName, actor, subjectId, subjectName } = auditEntries;
  const rows = await query.select().from(auditEntries).where(and(
    kind && eq(auditEntries.kind, kind),
    subject === undefined ? undefined : or(eq(subjectId, subject), eq(subjectName, subject)),
    by === undefined ? undefined : or(eq(keyId, by), eq(actorName, by), eq(actor, by as typeof actor._.data)),
    from === undefined ? undefined : gte(at, from),
    to === undefined ? undefined : lt(at, to),
    before === undefined ? undefined : lt(position, before),
  )).orderBy(desc(position)).limit(limit);
  return rows.map((row) => ({
    position: row.position,
    at: toIso(row.at),
    actor: row.actor,
    key_id: row.keyId,
    actor_name: row.actorName,
    address: row.address,
    label: row.label,
    action: row.action,
    kind: row.kind,
    subject_id: row.subjectId,
    subject_name: row.subjectName,
    before: row.before,
    after: row.after,
  }));
}
