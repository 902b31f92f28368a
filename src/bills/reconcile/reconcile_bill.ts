import { fireUnexplained } from "../../alerts/mod.ts";
import { resolveAlerts } from "../../alerts/follow/mod.ts";
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
  onProgress: (days: number, of: number) => void = () => {},
): Promise<ReconciliationDetail> {
  const limitNanoUsd = limit_usd === undefined ? undefined : parseUsd(limit_usd, "limit_usd");
  const startedAt = ctx.clock.now();
  const input = { terms, account, month, limitNanoUsd };
  const compare = () =>
    reconcileMonth(ctx, input, (days, of) => {
      onProgress(days, of);
      ctx.log.debug("bill.compared", {
        source,
        month,
        done: Math.round(days / of * 100),
        ms: ctx.clock.now() - startedAt,
      });
    });
  const reconciliationId = await compare();
  if (correct) await proposeGenerations(ctx, reconciliationId, input);
  const isCorrected = correct && await applyCorrections(ctx, reconciliationId) > 0;
  // Also of one that was compared before: a rule may have been added since.
  await fireUnexplained(ctx, isCorrected ? await compare() : reconciliationId);
  await resolveAlerts(ctx);
  return await getReconciliation(ctx, reconciliationId);
}
