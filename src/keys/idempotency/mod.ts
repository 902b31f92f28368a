/**
 * Requests that may be sent again under an idempotency key: the first one that takes effect is the only one, and what is
 * sent again gets its answer.
 *
 * A request claims its key before it changes anything. What it changes is committed together with the answer
 * (`settleClaim()`), if it still holds the claim: one that was thought dead, and whose key another request has claimed since,
 * changes nothing. A run is its own answer: its id is chosen with the claim, and no two runs can have it.
 */

import { type Clock, DAY_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { Ids } from "../../kernel/ids.ts";
import {
  leaseNow,
  leaseTime,
  requireThat,
  type SqlValue,
  type Statement,
  type Store,
  toObjects,
} from "../../store/mod.ts";

/** The parts of a process that idempotency uses. */
export interface IdempotencyContext {
  store: Store;
  clock: Pick<Clock, "now">;
  ids: Ids;
  /** This process, as the holder of leases. */
  instanceId: string;
}

/** A request under an idempotency key. */
export interface KeyedRequest {
  /** The id of the API key; '' without one. The keys of one owner mean nothing to another. */
  owner: string;
  /** Method and path. */
  operation: string;
  key: string;
  /** Hash of the body: a key stands for one body. */
  fingerprint: string;
  /** The id of the run that the request would start. */
  runId?: string;
}

/** The claim of a request on its key. */
export interface Claim {
  request: KeyedRequest;
  holder: string;
  /** The id for its run: that of an earlier attempt, if there was one. */
  runId: string | null;
}

/** A claim, or the effect of an earlier request under the key: its answer, or the run that it has started. */
export type Claimed = { claim: Claim } | { result: string } | { startedRunId: string };

/** The time for which a key stands for its request. */
const KEPT_MS = DAY_MS;

/** A request that has changed nothing for this long is considered dead: another one may claim its key. */
const LEASE_MS = 60_000;

/** The pause after which a client should send a request again whose first is in progress. */
const RETRY_AFTER_SECONDS = 1;

const KEY = "owner = ?1 AND operation = ?2 AND idempotency_key = ?3";
const NOW = leaseTime("?4");

const FORGET = `DELETE FROM idempotency_keys WHERE ${KEY} AND created_at <= ${NOW} - ${KEPT_MS}`;

const HAS_RUN = "EXISTS (SELECT 1 FROM runs WHERE runs.run_id = idempotency_keys.run_id)";

const CLAIM =
  `INSERT INTO idempotency_keys (owner, operation, idempotency_key, fingerprint, holder, instance_id,
  lease_until, run_id, created_at)
VALUES (?1, ?2, ?3, ?5, ?6, ?7, ${NOW} + ${LEASE_MS}, ?8, ${NOW})
ON CONFLICT (owner, operation, idempotency_key) DO UPDATE
SET holder = excluded.holder, instance_id = excluded.instance_id, lease_until = excluded.lease_until
WHERE idempotency_keys.result IS NULL AND idempotency_keys.fingerprint = excluded.fingerprint
  AND (idempotency_keys.lease_until <= ${NOW} OR idempotency_keys.holder = ?9) AND NOT ${HAS_RUN}`;

const READ = `SELECT fingerprint, holder, instance_id, run_id, result, ${HAS_RUN} AS has_run
FROM idempotency_keys WHERE ${KEY}`;

interface Row {
  fingerprint: string;
  holder: string;
  instance_id: string;
  run_id: string | null;
  result: string | null;
  has_run: bigint;
}

/**
 * Claims a key for a request, unless an earlier request under it has taken effect. A claim whose process has died, or that
 * has changed nothing within 60 s, is replaced.
 *
 * @throws {PurserError} `idempotency_mismatch` when the key stands for another body; `conflict` when the first request is
 * in progress
 */
export async function claimKey(ctx: IdempotencyContext, request: KeyedRequest): Promise<Claimed> {
  await ctx.store.instances.hold(ctx.instanceId);
  const holder = ctx.ids.next("req");
  let row = await writeClaim(ctx, request, holder);
  const isOpen = ({ result, has_run }: Row) => result === null && Number(has_run) === 0;
  if (row.holder !== holder && isOpen(row) && await ctx.store.instances.isGone(row.instance_id)) {
    row = await writeClaim(ctx, request, holder, row.holder);
  }
  if (row.fingerprint !== request.fingerprint) {
    throw new PurserError(
      "idempotency_mismatch",
      "Cannot repeat the request: its Idempotency-Key was sent with another body; use a new key for a new request",
    );
  }
  if (row.result !== null) return { result: row.result };
  if (Number(row.has_run) !== 0) return { startedRunId: row.run_id! };
  if (row.holder !== holder) throw inProgress();
  return { claim: { request, holder, runId: row.run_id } };
}

/** Returns the error for a request whose first is in progress. */
export function inProgress(): PurserError {
  return new PurserError(
    "conflict",
    "Cannot answer yet: the first request with this Idempotency-Key is in progress; send it again later",
    { details: { retry_after_seconds: RETRY_AFTER_SECONDS } },
  );
}

/** Writes a claim if the key is free, or held by `deadHolder`. Returns the claim that the key has then. */
async function writeClaim(
  ctx: IdempotencyContext,
  request: KeyedRequest,
  holder: string,
  deadHolder: string | null = null,
): Promise<Row> {
  const { fingerprint, runId } = request;
  const key = [...keyOf(request), leaseNow(ctx)];
  const results = await ctx.store.write([
    { sql: FORGET, args: key },
    { sql: CLAIM, args: [...key, fingerprint, holder, ctx.instanceId, runId ?? null, deadHolder] },
    { sql: READ, args: key.slice(0, 3) },
  ]);
  return toObjects<Row>(results.at(-1)!)[0]!;
}

function keyOf({ owner, operation, key }: KeyedRequest): SqlValue[] {
  return [owner, operation, key];
}

/**
 * Returns the statements that make a commit the effect of a claim: they refuse it unless the claim is still held, and store
 * the answer, an SQL expression of JSON text; where that is NULL, the commit has changed nothing and the claim stays open.
 */
export function settleClaim({ request, holder }: Claim, { sql, args = [] }: Statement): Statement[] {
  const own = [...keyOf(request), holder];
  const isHeld = `EXISTS (SELECT 1 FROM idempotency_keys WHERE ${KEY} AND holder = ?4 AND result IS NULL)`;
  const [owner, operation, key] = [1, 2, 3].map((index) => `?${args.length + index}`);
  return [
    requireThat({ sql: isHeld, args: own }),
    {
      sql: `UPDATE idempotency_keys SET result = (${sql})
WHERE owner = ${owner} AND operation = ${operation} AND idempotency_key = ${key}`,
      args: [...args, ...own.slice(0, 3)],
    },
  ];
}

/**
 * Gives a claim up after an error. The key is free again if the error says that nothing was changed; else the same request
 * alone may claim it, since what the database did not acknowledge may yet be committed.
 */
export async function releaseClaim(
  ctx: Pick<IdempotencyContext, "store">,
  { request, holder }: Claim,
  error: unknown,
): Promise<void> {
  const isRefusal = error instanceof PurserError && error.code !== "unavailable" && error.code !== "internal";
  const open = `${KEY} AND holder = ?4 AND result IS NULL AND NOT ${HAS_RUN}`;
  const sql = isRefusal
    ? `DELETE FROM idempotency_keys WHERE ${open}`
    : `UPDATE idempotency_keys SET lease_until = 0 WHERE ${open}`;
  await ctx.store.write([{ sql, args: [...keyOf(request), holder] }]);
}

/** Returns the query for the instances that hold claims, whose locks show whether they live. */
export function selectClaimingInstances(ctx: Pick<IdempotencyContext, "store" | "clock">): Statement {
  const sql = `SELECT DISTINCT instance_id FROM idempotency_keys WHERE lease_until > ${leaseTime("?1")}`;
  return { sql, args: [leaseNow(ctx)] };
}

const SWEPT_AT_ONCE = 5_000;

const EXPIRED = `created_at <= ${leaseTime("?1")} - ${KEPT_MS}`;

/** Removes the keys that have expired. */
export async function sweepIdempotencyKeys(ctx: Pick<IdempotencyContext, "store" | "clock">): Promise<void> {
  const args = [leaseNow(ctx)];
  const find = { sql: `SELECT 1 FROM idempotency_keys WHERE ${EXPIRED} LIMIT 1`, args };
  const remove = {
    sql: `DELETE FROM idempotency_keys WHERE (owner, operation, idempotency_key) IN (
  SELECT owner, operation, idempotency_key FROM idempotency_keys WHERE ${EXPIRED} LIMIT ${SWEPT_AT_ONCE})`,
    args,
  };
  // Read first: there is rarely anything to remove, and a commit costs a flush.
  while ((await ctx.store.read(find)).rows.length > 0) await ctx.store.write([remove]);
}
