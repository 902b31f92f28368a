import { z } from "zod";
import { NANO_PER_USD } from "../../kernel/money.ts";
import type { SpooledCall } from "./spooled_call.ts";

/** The parts of a record that booking needs; the rest is as its process has written it. */
const Spooled = z.looseObject({
  ledger: z.string().nullable(),
  call: z.looseObject({
    callId: z.string(),
    at: z.number(),
    agentId: z.string(),
    provider: z.string(),
    model: z.string(),
    tools: z.array(z.string()),
    usage: z.looseObject({ inputTokens: z.number(), outputTokens: z.number() }),
    costNanoUsd: z.bigint().nullable(),
  }),
  grant: z.looseObject({
    reservationId: z.string(),
    scopes: z.looseObject({ agentId: z.string() }),
    amounts: z.looseObject({ estimateNanoUsd: z.bigint() }),
    lostNanoUsd: z.bigint().optional(),
  }).optional(),
});

/** Decodes what `encodeSpooled()` has written. Throws if it is not a spooled call. */
export function decodeSpooled(text: string): SpooledCall {
  const value = JSON.parse(text, (_, value) => {
    const pair = (value as { $nano?: unknown } | null)?.$nano;
    return Array.isArray(pair) ? BigInt(pair[0]) * NANO_PER_USD + BigInt(pair[1]) : value;
  });
  return Spooled.parse(value) as unknown as SpooledCall;
}
