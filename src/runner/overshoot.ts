import type { ModelCall } from "../ledger/mod.ts";
import type { Log } from "../log.ts";
import { formatUsd } from "../money.ts";

/** Warns of a strict call that cost more than its bound, and returns what the event log keeps of it. */
export function warnOfOvershoot(
  { log }: { log: Log },
  call: ModelCall,
  reservedNanoUsd: bigint,
): Record<string, unknown> {
  const payload = {
    call_id: call.callId,
    bound_usd: formatUsd(reservedNanoUsd),
    cost_usd: formatUsd(call.costNanoUsd ?? 0n),
  };
  log.warn("A provider reported more than a strict call was bounded to", payload);
  return payload;
}
