/** A client of the gateway: the settings by which it uses a server. */
export interface GatewayClient {
  name: string;
  /** The full name. */
  title: string;
  /** The variables for a server's URL; null is one to unset. */
  variables(url: string): Readonly<Record<string, string | null>>;
  /** The settings of its config file, which no variable can make. */
  file?: { path: string; text(url: string): string };
}

/** The variable with the key for the gateway; its value is never printed. */
export const KEY_VARIABLE = "PURSER_API_KEY";

/** Stands for the value of that variable. */
export const KEY = `$${KEY_VARIABLE}`;

/** Every client that the command and the documents have settings for. */
export const GATEWAY_CLIENTS: readonly GatewayClient[] = [
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

/** The names of the clients. */
export const CLIENT_NAMES: readonly string[] = GATEWAY_CLIENTS.map(({ name }) => name);
