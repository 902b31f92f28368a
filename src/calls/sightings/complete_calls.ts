import { messageOf } from "../../kernel/errors.ts";
import type { ModelCall } from "../../ledger/mod.ts";
import { CACHE_WRITE_LIFETIME } from "../../pricing/usage/mod.ts";
import { replaceState } from "../../store/mod.ts";
import type { CallContext } from "../context.ts";
import { findKnown, readKnown } from "./known_calls.ts";
import { settleCall } from "./settle_call.ts";
import { commitSettled } from "./sight_calls.ts";

const FIND_REPLACING = `SELECT DISTINCT c.stands FROM calls c
WHERE c.stands IN (SELECT value FROM json_each(?1)) AND c.adjusts <> c.stands`;

/**
 * Adds to booked calls the parts that only the lesser witnesses know which they have replaced, as if those had come later. Most
 * calls know all of their parts, and are not looked up. Never throws: the calls are booked.
 */
export async function completeCalls(ctx: CallContext, calls: readonly ModelCall[]): Promise<void> {
  if (!calls.some(mayLackParts)) return;
  const callIds = calls.filter(mayLackParts).map(({ callId }) => callId);
  try {
    const { rows } = await ctx.store.read({ sql: FIND_REPLACING, args: [JSON.stringify(callIds)] });
    if (rows.length === 0) return;
    await replaceState("the witnesses of calls", async () => {
      const { guard } = await findKnown(ctx, []);
      const known = await readKnown(ctx, rows.map(([callId]) => callId as string));
      await commitSettled(ctx, guard, [...new Set(known.values())].map((one) => settleCall(ctx, one)));
    });
  } catch (error) {
    ctx.log.warn("Calls were booked without the parts that only their logs know", {
      call_ids: callIds.join(),
      error: messageOf(error),
    });
  }
}

const mayLackParts = ({ source, responseId, usage }: ModelCall) =>
  source === "report" ? responseId !== undefined : usage.others?.[CACHE_WRITE_LIFETIME] !== undefined;
