import { KEY_VARIABLE } from "./env_commands.ts";
import { type Client, KEY } from "./print_client.ts";

/** Every client that the command and the documents have settings for. */
export const GATEWAY_CLIENTS: readonly Client[] = [
  {
    name: "openai",
    title: "OpenAI's SDKs",
    variables: (url) => ({ OPENAI_BASE_URL: `${url}/openai/v1`, OPENAI_API_KEY: KEY }),
  },
  {
    name: "anthropic",
    title: "Anthropic's SDKs",
    // They send either of the two as the key, and both where both are set.
    variables: (url) => ({
      ANTHROPIC_BASE_URL: `${url}/anthropic`,
      ANTHROPIC_API_KEY: KEY,
      ANTHROPIC_AUTH_TOKEN: null,
    }),
  },
  {
    name: "gemini",
    title: "Google's Gen AI SDKs",
    // They prefer GOOGLE_API_KEY.
    variables: (url) => ({
      GOOGLE_GEMINI_BASE_URL: `${url}/gemini`,
      GEMINI_API_KEY: KEY,
      GOOGLE_API_KEY: null,
    }),
  },
  {
    name: "ai-sdk",
    title: "Vercel's AI SDK",
    variables: (url) => ({
      OPENAI_BASE_URL: `${url}/openai/v1`,
      OPENAI_API_KEY: KEY,
      ANTHROPIC_BASE_URL: `${url}/anthropic/v1`,
      ANTHROPIC_API_KEY: KEY,
    }),
  },
  {
    name: "claude-code",
    title: "Claude Code",
    variables: (url) => ({
      ANTHROPIC_BASE_URL: `${url}/anthropic`,
      ANTHROPIC_AUTH_TOKEN: KEY,
      ANTHROPIC_API_KEY: null,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
  },
  {
    name: "codex",
    title: "Codex",
    variables: () => ({ [KEY_VARIABLE]: KEY }),
    file: {
      path: "~/.codex/config.toml",
      text: (url) =>
        `model_provider = "purser"

[model_providers.purser]
name = "Purser"
base_url = "${url}/openai/v1"
env_key = "${KEY_VARIABLE}"
wire_api = "responses"
`,
    },
  },
  {
    name: "curl",
    title: "curl",
    variables: (url) => ({ PURSER_URL: url, [KEY_VARIABLE]: KEY }),
  },
];
