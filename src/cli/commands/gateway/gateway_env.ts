import { nearestName } from "../../../kernel/nearest_name.ts";
import { arg, type Command, type CommandContext } from "../../command.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { escapeText } from "../../terminal/escape_text.ts";

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

/** `purser gateway env CLIENT`. Standard output is for the shell's `eval`, everything else is on standard error. */
export const gatewayEnv: Command = {
  name: "gateway env",
  args: [arg("CLIENT", { oneOf: CLIENT_NAMES })],
  summary: "Print a client's variables for the gateway",
  detail:
    `Prints lines for a POSIX shell. The key is the value of ${KEY_VARIABLE} in the shell that runs them, and needs the ` +
    "scope call. The server is that of --server or a profile, or the one that purser serve starts with these " +
    "settings. The command itself sends no request.",
  options: {},
  examples: [
    ['eval "$(purser gateway env openai)"', "In the shell that starts the client"],
    ["purser gateway env claude-code --server https://purser.example.com", "For another machine's server"],
  ],
  run: (ctx) => Promise.resolve(printEnv(ctx)),
};

function printEnv(ctx: CommandContext): void {
  const client = findClient(ctx);
  const url = serverUrl(ctx);
  const variables = Object.entries(client.variables(url));
  if (ctx.isJson) {
    return ctx.print(JSON.stringify({
      client: client.name,
      variables: Object.fromEntries(variables.filter(([, value]) => value !== null)),
      unset: variables.filter(([, value]) => value === null).map(([name]) => name),
      file: client.file ? { path: client.file.path, text: client.file.text(url) } : null,
    }));
  }
  for (const [name, value] of variables) {
    // Setting a variable to itself exports it.
    if (value === null) ctx.print(`unset ${name}`);
    else ctx.print(`export ${name}=${value === KEY ? `"${KEY}"` : escapeText(quote(value))}`);
  }
  if (client.file) {
    ctx.say(`For ${client.title}, add to ${client.file.path}:`);
    for (const line of client.file.text(url).trimEnd().split("\n")) ctx.say(line);
  }
  if (!ctx.env[KEY_VARIABLE]) {
    ctx.say(
      `Set ${KEY_VARIABLE} first, to a key that purser keys add NAME --scope call has printed; while the server has no ` +
        "key at all, any text will do",
    );
  }
}

function findClient({ args, options }: CommandContext): GatewayClient {
  const [typed] = args as [string];
  const client = GATEWAY_CLIENTS.find(({ name }) => name === typed);
  if (client) return client;
  const near = nearestName(typed, CLIENT_NAMES);
  throw new UsageError(
    `Cannot print the variables of ${typed}: it is not one of ${CLIENT_NAMES.join(", ")}${
      near ? `; did you mean ${near}?` : ""
    }`,
    options.command,
  );
}

/** Returns the URL of the server that these settings use, or would start. */
function serverUrl({ config: { server, host, port } }: CommandContext): string {
  if (server !== undefined) return server;
  // A server on all addresses is reached from its own machine by this one.
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") && !name.startsWith("[") ? `[${name}]` : name}:${port}`;
}

/** Quotes a value for a POSIX shell, unless it needs none. */
function quote(value: string): string {
  return /^[\w:/.@%+,=-]*$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
