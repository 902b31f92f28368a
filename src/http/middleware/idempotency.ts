import { z } from "zod";
import type { Context } from "hono";
import { createHash } from "node:crypto";
import {
  type Claim,
  type Claimed,
  claimKey,
  inProgress,
  releaseClaim,
  settleClaim,
} from "../../keys/idempotency/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import type { Core } from "../../service/mod.ts";
import { ConstraintError, type Statement } from "../../store/mod.ts";
import { type ApiEnv, principalOf } from "./principal.ts";

/*
 * `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07) on routes that create: a request that is sent again gets
 * the first one's answer.
 */

export { inProgress };

const HEADER = "idempotency-key";

/** The header of an answer that an earlier request had got, or would have. */
export const REPLAYED = "idempotency-replayed";

const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/** The request header of routes that can be sent again. */
export const IDEMPOTENCY_KEY = {
  [HEADER]: z.string().optional().meta({
    pattern: KEY.source,
    description:
      "1 to 255 printable ASCII characters, new for each request: the same request sent again with it within " +
      "24 hours takes effect once, and gets the first one's answer",
    example: "8e03978e-40d5-43dd-bc93-6894a57f9324",
  }),
};

/** Returns the fingerprint of a body that was parsed and checked: neither blanks nor the order of fields matter. */
export function fingerprintOf(body: unknown): string {
  return createHash("sha256").update(JSON.stringify(body)).digest("hex");
}

/** Creates the fingerprint of a body that is read as a stream. */
export function createFingerprint() {
  const hash = createHash("sha256");
  return {
    /** Adds the bytes of a stream as they pass. */
    async *pass(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const piece of bytes) {
        hash.update(piece);
        yield piece;
      }
    },
    digest: () => hash.digest("hex"),
  };
}

/** Returns whether a request has a key. Throws `invalid` where that can't be one. */
export function hasKey(c: Context<ApiEnv>): boolean {
  return readKey(c) !== undefined;
}

function readKey(c: Context<ApiEnv>): string | undefined {
  const key = c.req.header(HEADER);
  if (key === undefined || KEY.test(key)) return key;
  throw new PurserError(
    "invalid",
    "Cannot use the Idempotency-Key: it has to be 1 to 255 printable ASCII characters",
  );
}

/**
 * Claims a request's key; undefined without one.
 *
 * @throws {PurserError} `invalid`, `idempotency_mismatch`, or `conflict` when the first request is in progress
 */
export async function claimRequest(
  c: Context<ApiEnv>,
  core: Core,
  fingerprint: string,
  runId?: string,
): Promise<Claimed | undefined> {
  const key = readKey(c);
  if (key === undefined) return undefined;
  return await claimKey(core, {
    owner: principalOf(c)?.keyId ?? "",
    operation: `${c.req.method} ${c.req.path}`,
    key,
    fingerprint,
    runId,
  });
}

/** Marks the answer of a request as that of an earlier one. */
export function markReplayed(c: Context<ApiEnv>): void {
  c.set("isReplayed", true); // for a problem, which is a new response
  c.header(REPLAYED, "true");
}

/** Does the work of a claim, or work without one; after an error gives the claim up. */
export async function workUnder<Result>(
  core: Core,
  claim: Claim | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!claim) return await work();
  try {
    return await work();
  } catch (error) {
    try {
      await releaseClaim(core, claim, error);
    } catch (failure) {
      // Its lease ends by itself.
      core.log.warn("An idempotency key could not be released", { reason: messageOf(failure) });
    }
    // Another request has claimed the key since, and was faster.
    throw error instanceof ConstraintError ? inProgress() : error;
  }
}

/** Answers a request with a body once. `create` gets the statements that keep its result, for the commit that makes it. */
export function createOnce<Result>(
  c: Context<ApiEnv>,
  core: Core,
  body: unknown,
  create: (settle: (result: Result) => Statement[]) => Promise<Result>,
): Promise<Result> {
  const work = (claim?: Claim) =>
    create((result) => claim ? settleClaim(claim, { sql: "?1", args: [JSON.stringify(result)] }) : []);
  return answerOnce(c, core, () => fingerprintOf(body), work);
}

/** Answers a request once: by the result of an earlier one, or by that of `work`, which stores it under the claim. */
export async function answerOnce<Result>(
  c: Context<ApiEnv>,
  core: Core,
  fingerprint: () => string,
  work: (claim?: Claim) => Promise<Result>,
): Promise<Result> {
  const claimed = hasKey(c) ? await claimRequest(c, core, fingerprint()) : undefined;
  if (claimed && "result" in claimed) {
    markReplayed(c);
    return JSON.parse(claimed.result);
  }
  const claim = claimed && "claim" in claimed ? claimed.claim : undefined;
  return await workUnder(core, claim, () => work(claim));
}
