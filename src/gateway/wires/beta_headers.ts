import type { HeaderFields } from "../../kernel/header_fields.ts";
import type { Family } from "../targets.ts";

/**
 * The betas that change no price by themselves, or only by a field of the body, which the bound of a call looks at. As of
 * 2026-11-26: the type `AnthropicBeta` of @anthropic-ai/sdk 1.14.0, those that Claude Code 2.1.332 sends, and `OpenAI-Beta` of
 * openai 6.49.0. Left out are those of other models, speeds and accounts, and of work that the provider adds to a call.
 */
const KNOWN: Readonly<Record<Family, { header: string; betas: ReadonlySet<string> } | undefined>> = {
  anthropic: {
    header: "anthropic-beta",
    betas: new Set([
      ...["claude-code-20250219", "effort-2025-11-24", "structured-outputs-2025-11-13"],
      ...["prompt-caching-2024-07-31", "extended-cache-ttl-2025-04-11", "cache-diagnosis-2026-04-07"],
      ...["output-128k-2025-02-19", "output-300k-2026-03-24", "context-1m-2025-08-07"],
      ...["interleaved-thinking-2025-05-14", "dev-full-thinking-2025-05-14"],
      ...["thinking-token-count-2026-05-13", "thinking-display-updates-2026-08-18"],
      ...["thinking-binding-controls-2026-08-01", "model-context-window-exceeded-2025-08-26"],
      ...["token-efficient-tools-2025-02-19", "fine-grained-tool-streaming-2025-05-14"],
      ...["advanced-tool-use-2025-11-20", "task-budgets-2026-03-13", "token-counting-2024-11-01"],
      // Their fields and blocks have no bound themselves.
      ...["context-management-2025-06-27", "pdfs-2024-09-25", "files-api-2025-04-14"],
      ...["computer-use-2024-10-22", "computer-use-2025-01-24", "computer-use-2025-11-24"],
    ]),
  },
  openai: {
    header: "openai-beta",
    betas: new Set(["responses=experimental", "responses=v1", "assistants=v1", "assistants=v2"]),
  },
  google: undefined,
};

/** Returns the reason that a request has no bound if its headers ask for a beta that may raise its cost. */
export function openBeta(family: Family, headers: Pick<HeaderFields, "get">): string | undefined {
  const known = KNOWN[family];
  const asked = known && headers.get(known.header);
  if (!asked) return undefined;
  const open = asked.split(",").map((beta) => beta.trim())
    .find((beta) => beta !== "" && !known.betas.has(beta));
  return open === undefined
    ? undefined
    : `its header ${known.header} names "${open.slice(0, 80)}", which may raise its cost`;
}
