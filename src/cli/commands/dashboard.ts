import { type Command, type CommandContext, flag } from "../command.ts";
import { UsageError } from "../parse/usage_error.ts";

/** `purser dashboard` */
export const dashboard: Command = {
  name: "dashboard",
  args: [],
  summary: "Open the dashboard of a server in the browser",
  detail:
    "Prints the address of the dashboard, and opens it if possible. With an API key, the address has a code that " +
    "signs the browser in: it works once, within a minute. The code is in the part of the address that browsers " +
    "send to no server.",
  options: { "no-open": flag("Only print the address") },
  examples: [
    ["purser dashboard --server https://purser.example.com", "With the key of PURSER_API_KEY"],
    [
      "purser dashboard --server http://127.0.0.1:8420",
      "For a server on this machine, started by purser serve",
    ],
  ],
  run: openDashboard,
};

async function openDashboard(ctx: CommandContext): Promise<void> {
  const { server, apiKey, apiKeyFile, host, port } = ctx.config;
  if (server === undefined) {
    const address = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
    throw new UsageError(
      `Cannot open the dashboard without a server: start one with purser serve, and open ${address}/ui/; or name one with ` +
        "--server",
      ctx.options.command,
    );
  }
  const connection = await ctx.connect();
  const hasKey = apiKey !== undefined || apiKeyFile !== undefined;
  const code = hasKey ? await makeCode(connection) : undefined;
  const url = `${server.replace(/\/$/, "")}/ui/${code === undefined ? "" : `#code=${code}`}`;
  ctx.print(ctx.isJson ? JSON.stringify({ url }) : url);
  if (ctx.isJson || ctx.options.has("no-open")) return;
  if (await ctx.terminal.openPage?.(url) === false) ctx.say("Open this address in a browser");
}

/** Returns a one-time code; undefined if the server has no keys, and so requires no code. */
async function makeCode(
  { send }: Awaited<ReturnType<CommandContext["connect"]>>,
): Promise<string | undefined> {
  const { errorOf } = await import("../../client/mod.ts");
  const response = await send(new Request("http://purser.invalid/ui/session/codes", { method: "POST" }));
  if (response.status === 409) return void await response.body?.cancel();
  if (!response.ok) throw await errorOf(response);
  const { code } = await response.json() as { code: string };
  return code;
}
