import { createHash } from "node:crypto";
import { eq } from "drizzle-orm";
import type { ListedUpstream, Upstream as UpstreamOnWire } from "../contract/costs/upstreams.ts";
import { type Clock, toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import {
  auditEntry,
  type Author,
  type Query,
  type SqlValue,
  type Statement,
  type Store,
  tables,
  toObjects,
} from "../store/mod.ts";
import type { ModelCall } from "./model_call.ts";

/**
 * The credential and the account that pay for a call, as far as they are known: with its provider, this is how the provider's bill and the
 * ledger name the same calls. It never has a key.
 */
export interface Upstream {
  /** The variable or the provider of the config that the key came from, or `client` for a key that a client has sent. */
  credential?: string | undefined;
  /** See `hashCredential()`. */
  keyHash?: string | undefined;
  /** The provider's id of the account, such as an organization. */
  account?: string | undefined;
  /** The provider's name of a project within it. */
  project?: string | undefined;
}

/** Headers, with names in lower case. */
interface Named {
  get(name: string): string | null;
}

/** The ids in the headers of an answer. */
export interface AnswerIds extends Pick<Upstream, "account" | "project"> {
  /** The provider's id of the request. */
  requestId?: string | undefined;
}

/*
 * Headers with ids, as of 2026-11-27: Anthropic's (https://docs.claude.com/en/api/errors), OpenAI's and those of servers with its API
 * (https://platform.openai.com/docs/api-reference/debugging-requests), Azure's, Bedrock's, Google's. The id of a generation of OpenRouter is that of the answer.
 */
const REQUEST = ["request-id", "x-request-id", "apim-request-id", "x-amzn-requestid", "x-goog-request-id"];
const ACCOUNT = ["anthropic-organization-id", "openai-organization"];
const PROJECT = ["openai-project", "x-goog-user-project"];

/** The longest id that is kept. */
const MAX_ID = 200;

/** Returns the ids that headers state: those of an answer, or of a request. */
export function idsIn(headers: Named): AnswerIds {
  const first = (names: readonly string[]) =>
    names.map((name) => headers.get(name)).find((id) => id && id.length <= MAX_ID) ?? undefined;
  return { requestId: first(REQUEST), account: first(ACCOUNT), project: first(PROJECT) };
}

const COLUMNS = ["upstream_id", "provider", "credential", "key_hash", "account", "project"];
const INSERT = `INSERT INTO upstreams (${COLUMNS.join(", ")})
SELECT ${
  COLUMNS.map((column) => `v.${column}`).join(", ")
} FROM each_row v WHERE true ON CONFLICT DO NOTHING`;

/** The ids of the upstreams of this process, by their fields. They are few, unless a witness makes them up. */
const ids = new Map<string, number>();
const MAX_IDS = 10_000;

/** Returns the id of a call's upstream, which is the same in each process; null if nothing is known about it. */
export function upstreamIdOf(
  { provider, upstream, upstreamId }: Pick<ModelCall, "provider" | "upstream" | "upstreamId">,
): number | null {
  if (!upstream) return upstreamId ?? null;
  const { credential = "", keyHash = "", account = "", project = "" } = upstream;
  if (credential === "" && account === "" && project === "") return null;
  const text = `${provider}\0${credential}\0${keyHash}\0${account}\0${project}`;
  let id = ids.get(text);
  if (id === undefined) {
    id = parseInt(createHash("sha256").update(text).digest("hex").slice(0, 13), 16);
    if (ids.size >= MAX_IDS) ids.clear();
    ids.set(text, id);
  }
  return id;
}

/** Returns the statement that stores the upstreams of calls that `known` does not have, and their ids. */
export function recordUpstreams(
  calls: readonly Pick<ModelCall, "provider" | "upstream">[],
  known: ReadonlySet<number>,
): { statements: Statement[]; upstreamIds: number[] } {
  const fresh = new Map<number, SqlValue[]>();
  for (const { provider, upstream } of calls) {
    const id = upstream ? upstreamIdOf({ provider, upstream }) : null;
    if (id === null || known.has(id)) continue;
    const { credential, keyHash, account, project } = upstream!;
    fresh.set(id, [id, provider, credential ?? null, keyHash ?? null, account ?? null, project ?? null]);
  }
  if (fresh.size === 0) return { statements: [], upstreamIds: [] };
  const each = { columns: COLUMNS, integers: ["upstream_id"], rows: [...fresh.values()] };
  return { statements: [{ sql: INSERT, each }], upstreamIds: [...fresh.keys()] };
}

/** An upstream as bills name it, by its provider's ids. */
export type BilledUpstream =
  & { provider: string }
  & { [Name in "key" | "account" | "project"]: string | undefined };

/** Reads what bills name the upstreams by. */
export async function readBilledUpstreams(store: Pick<Store, "read">): Promise<Map<number, BilledUpstream>> {
  const { rows } = await store.read({
    sql: "SELECT upstream_id, provider, key_id, account, project FROM upstreams",
  });
  return new Map(rows.map(([id, provider, ...names]) => {
    const [key, account, project] = names.map((name) => name as string | null ?? undefined);
    return [Number(id), { provider: provider as string, key, account, project }];
  }));
}

/** Returns the id of an upstream as the API has it. */
export const toUpstreamId = (id: number): string => `ups_${id.toString(16).padStart(13, "0")}`;

const { upstreams } = tables;

function toWire({ upstreamId, keyHash, keyId, ...row }: typeof upstreams.$inferSelect): UpstreamOnWire {
  return { upstream_id: toUpstreamId(upstreamId), ...row, key_hash: keyHash, key_id: keyId };
}

/** Reads an upstream; undefined if none has that id. */
export async function findUpstream(query: Query, upstreamId: number): Promise<UpstreamOnWire | undefined> {
  const [row] = await query.select().from(upstreams).where(eq(upstreams.upstreamId, upstreamId));
  return row && toWire(row);
}

// A scan of the calls since a time: an index for it would be written with each call.
const LIST = `SELECT u.*, coalesce(c.calls, 0) AS calls, c.last_at FROM upstreams u LEFT JOIN
  (SELECT upstream_id, count(*) AS calls, max(at) AS last_at FROM calls WHERE at >= ?1 AND adjusts IS NULL AND upstream_id IS NOT NULL
    GROUP BY upstream_id) c ON c.upstream_id = u.upstream_id
ORDER BY u.provider, u.credential, u.upstream_id`;

/** Lists the upstreams, each with the number of its calls since a time and the last one. */
export async function listUpstreams({ store }: { store: Store }, since: number): Promise<ListedUpstream[]> {
  type Row = Omit<UpstreamOnWire, "upstream_id"> & Record<"upstream_id" | "calls" | "last_at", SqlValue>;
  const rows = toObjects<Row>(await store.read({ sql: LIST, args: [since] }));
  return rows.map(({ upstream_id, calls, last_at, ...row }) => ({
    upstream_id: toUpstreamId(Number(upstream_id)),
    ...row,
    model_calls: Number(calls),
    last_used_at: last_at === null ? null : toIso(Number(last_at)),
  }));
}

/**
 * Sets the provider's id of a key, by which its bills name it.
 *
 * @throws {PurserError} `not_found`
 */
export async function setUpstreamKey(
  { store, query, clock, author }: { store: Store; query: Query; clock: Pick<Clock, "now">; author: Author },
  id: string,
  keyId: string | null,
): Promise<UpstreamOnWire> {
  const upstreamId = parseInt(id.slice("ups_".length), 16);
  const before = await findUpstream(query, upstreamId);
  if (!before) throw new PurserError("not_found", `Cannot find upstream ${id}; see purser upstreams list`);
  await store.write([
    { sql: "UPDATE upstreams SET key_id = ?1 WHERE upstream_id = ?2", args: [keyId, upstreamId] },
    auditEntry({ author, now: clock.now() }, {
      ...{ action: "changed", kind: "upstream", id, name: before.credential },
      before: { key_id: before.key_id },
      after: { key_id: keyId },
    }),
  ]);
  return { ...before, key_id: keyId };
}
