import type { Scope } from "../../../contract/values.ts";
import { nearestName } from "../../../kernel/nearest_name.ts";
import type { CommandContext } from "../../command.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { KEY_VARIABLE } from "./env_commands.ts";

/** A program that uses a server: the settings by which it does. */
export interface Client {
  name: string;
  /** The full name. */
  title: string;
  /** The variables for a server's URL, in which `KEY` stands for the key; null is one to unset. */
  variables(url: string): Readonly<Record<string, string | null>>;
  /** The settings of its config file. */
  file?: { path: string; text(url: string): string };
  /** A sentence about it. */
  note?: string;
}

/** Stands for the key, the value of that variable, which is never printed. */
export const KEY = `$${KEY_VARIABLE}`;

/**
 * Prints the settings of the client that the command line names: lines for a POSIX shell on standard output, everything else on
 * standard error. Throws a UsageError for a client that is not among those.
 *
 * @param scope The scope that the key needs.
 */
export function printClient(ctx: CommandContext, clients: readonly Client[], scope: Scope): void {
  const client = findClient(ctx, clients);
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
    if (value === null) {
      ctx.print(`unset ${name}`);
      continue;
    }
    // The shell inserts the key, though not into a URL that names it. Setting the variable to itself exports it.
    const hasKey = value.includes(KEY) && !value.includes(url);
    ctx.print(`export ${name}=${hasKey ? `"${value}"` : escapeText(quote(value))}`);
  }
  if (client.file) {
    ctx.say(`For ${client.title}, add to ${client.file.path}:`);
    for (const line of client.file.text(url).trimEnd().split("\n")) ctx.say(line);
  }
  if (client.note) ctx.say(client.note);
  if (!ctx.env[KEY_VARIABLE]) {
    ctx.say(
      `Set ${KEY_VARIABLE} first, to a key that purser keys add NAME --scope ${scope} has printed; while the server has no ` +
        "key at all, any text will do",
    );
  }
}

function findClient({ args, options }: CommandContext, clients: readonly Client[]): Client {
  const [typed] = args as [string];
  const client = clients.find(({ name }) => name === typed);
  if (client) return client;
  const names = clients.map(({ name }) => name);
  const near = nearestName(typed, names);
  throw new UsageError(
    `Cannot print the variables of ${typed}: it is not one of ${names.join(", ")}${
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
