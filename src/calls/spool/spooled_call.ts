import type { Grant } from "../../budgets/reservations/mod.ts";
import { NANO_PER_USD } from "../../kernel/money.ts";
import type { ModelCall } from "../../ledger/mod.ts";

/** A call that was made and is not in the ledger yet, with its reservation. */
export interface SpooledCall {
  /** The ledger that it belongs to, by the time of its first migration; null if that is unknown. */
  ledger: string | null;
  call: ModelCall;
  grant?: Grant | undefined;
}

/** Encodes a call as JSON. An amount is a pair of numbers: exact, and safe from the redaction of secrets, which changes strings. */
export function encodeSpooled(spooled: SpooledCall): string {
  return JSON.stringify(
    spooled,
    (_, value) =>
      typeof value === "bigint"
        ? { $nano: [Number(value / NANO_PER_USD), Number(value % NANO_PER_USD)] }
        : value,
  );
}
