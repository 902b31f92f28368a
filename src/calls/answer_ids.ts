import type { Upstream } from "../ledger/mod.ts";
import type { Secrets } from "../redaction/values/mod.ts";

/** Headers, with names in lower case. */
interface Named {
  get(name: string): string | null;
}

/** The ids in the headers of an answer. */
export interface AnswerIds extends Pick<Upstream, "account" | "project"> {
  /** The provider's id of the request. */
  requestId?: string | undefined;
}

/*
 * Headers with ids, as of 2026-11-27: Anthropic's (https://docs.claude.com/en/api/errors), OpenAI's and those of servers with its API
 * (https://platform.openai.com/docs/api-reference/debugging-requests), Azure's, Bedrock's, Google's. The id of a generation of OpenRouter is that of the answer.
 */
const REQUEST = ["request-id", "x-request-id", "apim-request-id", "x-amzn-requestid", "x-goog-request-id"];
const ACCOUNT = ["anthropic-organization-id", "openai-organization"];
const PROJECT = ["openai-project", "x-goog-user-project"];

/** The longest id that is kept. */
const MAX_ID = 200;

/** Returns the ids that headers state: those of an answer, or of a request. */
export function idsIn(headers: Named): AnswerIds {
  const first = (names: readonly string[]) => {
    for (const name of names) {
      const id = headers.get(name);
      if (id && id.length <= MAX_ID) return id;
    }
    return undefined;
  };
  return { requestId: first(REQUEST), account: first(ACCOUNT), project: first(PROJECT) };
}

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
