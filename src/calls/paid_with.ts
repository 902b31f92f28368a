import type { AnswerIds, Upstream } from "../ledger/mod.ts";
import type { Secrets } from "../redaction/values/mod.ts";

/** Returns what a call was paid with: as it was sent, and as its answer says. A provider may repeat a credential in any header. */
export function paidWith(
  sent: Upstream | undefined,
  { account, project }: AnswerIds,
  { scrub }: Pick<Secrets, "scrub">,
): Upstream | undefined {
  if (!account && !project) return sent;
  const { account: sentTo = undefined, project: of = undefined } = sent ?? {};
  return {
    ...sent,
    account: account === undefined ? sentTo : scrub(account),
    project: project === undefined ? of : scrub(project),
  };
}
