import { nearestName } from "../../../kernel/nearest_name.ts";
import { arg, type Command, type CommandContext } from "../../command.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { CLIENT_NAMES, GATEWAY_CLIENTS, type GatewayClient, KEY, KEY_VARIABLE } from "./clients.ts";

/** `purser gateway env CLIENT`. Standard output is for the shell's `eval`, everything else is on standard error. */
export const gatewayEnv: Command = {
  name: "gateway env",
  args: [arg("CLIENT", { oneOf: CLIENT_NAMES })],
  summary: "Print a client's variables for the gateway",
  detail:
    `Prints lines for a POSIX shell. The key is the value of ${KEY_VARIABLE} where they are run: a key with the scope call. ` +
    "The server is that of --server or a profile, or the one that purser serve starts with these settings. Nothing is " +
    "connected to.",
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
      `Set ${KEY_VARIABLE} first, to a key that purser keys create NAME --scope call has printed; while the server has no ` +
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
