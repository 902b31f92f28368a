import type { CallContext } from "../../calls/mod.ts";
import type { ReconciliationBody, ReconciliationDetail } from "../../contract/bills/reconciliations.ts";
import { parseUsd } from "../../kernel/money.ts";
import type { Author } from "../../store/mod.ts";
import type { BillTerms } from "../sources/bill_terms.ts";
import { type GenerationContext, proposeGenerations } from "./ask_generations.ts";
import { applyCorrections } from "./correct_calls.ts";
import { reconcileMonth } from "./reconcile_month.ts";
import { getReconciliation } from "./stored_reconciliations.ts";

/**
 * Compares a bill with the ledger. With `correct`, corrects the estimates that it, or the provider by their ids, proves to be others,
 * and compares it again.
 *
 * @throws {PurserError} as {@link reconcileMonth}
 */
export async function reconcileBill(
  ctx: CallContext & GenerationContext & { author: Author },
  terms: BillTerms,
  { source, account, month, limit_usd, correct = false }: ReconciliationBody,
): Promise<ReconciliationDetail> {
  const limitNanoUsd = limit_usd === undefined ? undefined : parseUsd(limit_usd, "limit_usd");
  const startedAt = ctx.clock.now();
  const input = { terms, account, month, limitNanoUsd };
  const compare = () =>
    reconcileMonth(ctx, input, (done) => {
      ctx.log.debug("bill.compared", {
        source,
        month,
        done: Math.round(done * 100),
        ms: ctx.clock.now() - startedAt,
      });
    });
  const reconciliationId = await compare();
  if (correct) await proposeGenerations(ctx, reconciliationId, input);
  if (correct && await applyCorrections(ctx, reconciliationId) > 0) await compare();
  return await getReconciliation(ctx, reconciliationId);
}
