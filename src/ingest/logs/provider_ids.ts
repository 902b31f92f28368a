/*
 * The ids that agents have of providers, as of 2026-11: models.dev and OpenCode 1.18, pi 0.73 (packages/ai), Cline 3.0 and Roo
 * Code 3.x (ProviderName).
 */

/** Purser's names, where those of the agents differ. */
const NAMES: Readonly<Record<string, string | undefined>> = {
  "claude-code": "anthropic",
  gemini: "google",
  "gemini-cli": "google",
  "google-antigravity": "google",
  "google-gemini-cli": "google",
  "google-vertex-anthropic": "google-vertex",
  "openai-codex": "openai",
  "openai-native": "openai",
  // A protocol: the log doesn't know whose server has answered.
  "anthropic-compatible": undefined,
  "openai-compatible": undefined,
};

/** The ids of logins with a subscription. */
const PLANS = new Set([
  "claude-code",
  "gemini-cli",
  "github-copilot",
  "google-antigravity",
  "google-gemini-cli",
  "kimi-for-coding",
  "openai-codex",
  "qwen-code",
  "qwen-oauth",
  "zai-coding-plan",
]);

/** Who answers and bills, as an agent names it. */
export function billedBy(id: string | undefined): { provider?: string; isPlan?: boolean } {
  if (id === undefined) return {};
  const lower = id.toLowerCase();
  const provider = Object.hasOwn(NAMES, lower) ? NAMES[lower] : lower;
  return { provider, isPlan: PLANS.has(lower) || undefined };
}
