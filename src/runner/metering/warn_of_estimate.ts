import { CANCELLED, type UsageReport } from "../../booking/mod.ts";
import type { Log } from "../../kernel/log.ts";
import type { ModelCall } from "../../ledger/mod.ts";
import type { Secrets } from "../../redaction/values/mod.ts";
import { modelErrorText, redactSecrets } from "../models/model_error.ts";

/** The longest usage of a provider in the log, in characters. */
const MAX_USAGE_LENGTH = 1_000;

/**
 * Logs a call that is booked as an estimate, with the reason and the usage as the provider has sent it. Not for a call that its
 * caller has cancelled, whose usage isn't expected.
 */
export function warnOfEstimate(
  { log, secrets }: { log: Log; secrets: Pick<Secrets, "scrub"> },
  call: ModelCall,
  { counted, raw, errorType, failure, brokenBy }: UsageReport,
  because: string,
): void {
  if (errorType === CANCELLED && !counted) return;
  const error = counted ? undefined : failure ?? brokenBy;
  const usage = raw ?? counted;
  log.warn("A model call is booked as an estimate", {
    call_id: call.callId,
    provider: call.provider,
    model: call.model,
    reason: error === undefined ? because : modelErrorText(error),
    ...(usage !== undefined &&
      { usage: redactSecrets(secrets.scrub(usageText(usage))).slice(0, MAX_USAGE_LENGTH) }),
  });
}

/** Returns a usage as text; the model of a library user may report anything. */
function usageText(usage: unknown): string {
  try {
    return JSON.stringify(usage) ?? String(usage);
  } catch {
    return String(usage);
  }
}
