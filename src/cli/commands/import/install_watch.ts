import type { CommandContext } from "../../command.ts";
import { ledgerOptions } from "../ledger_options.ts";
import { installService } from "../service/service.ts";
import type { ImportRequest } from "./import.ts";

/** `purser import --watch --install`: writes the service and says how to start it; starting it is the user's decision. */
export async function installWatch(ctx: CommandContext, request: ImportRequest): Promise<void> {
  const { env, options, config: { server } } = ctx;
  await installService(ctx, {
    name: "purser-import",
    description: "Purser: import what coding agents have cost",
    command: await commandOf(ctx, request),
    variables: variablesOf(request),
    lines: ["RestartSec=30", "SuccessExitStatus=130"],
  });
  if (server !== undefined && (options.has("api-key") || env.PURSER_API_KEY)) {
    ctx.warn(
      "the service has no API key: write the key into a file, add a profile with it (purser profiles add --help), and " +
        "install with --profile",
    );
  }
}

/** Returns the command line of the service: it names the ledger, which the environment may have chosen. */
async function commandOf(
  ctx: CommandContext,
  { machineName, path, isPlan }: ImportRequest,
): Promise<string[]> {
  const { terminal, args } = ctx;
  return [
    ...terminal.command?.() ?? ["purser"],
    "import",
    ...args,
    "--watch",
    ...["--machine", machineName],
    ...path === undefined ? [] : ["--path", path],
    ...isPlan ? ["--plan"] : [],
    ...await ledgerOptions(ctx),
  ];
}

/** Returns the variables that say where the agents keep their logs. */
function variablesOf({ importers, machine }: ImportRequest): Record<string, string> {
  const variables: Record<string, string> = {};
  const env = (name: string) => {
    const value = machine.env(name);
    if (value !== undefined) variables[name] = value;
    return value;
  };
  for (const importer of importers) importer.roots({ ...machine, env });
  return variables;
}
