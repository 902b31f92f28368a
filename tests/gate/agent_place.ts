import assert from "node:assert/strict";
import { inProcess } from "../harness/in_process.ts";

const LOGS = new URL("../fixtures/logs/", import.meta.url).pathname;

/** The home of a user of a coding agent, with the logs of a recording, and a ledger of their own. */
export interface AgentPlace extends AsyncDisposable {
  folder: string;
  env: Record<string, string> & { HOME: string; PURSER_DB: string };
  /** Runs a command that succeeds, and returns what it prints. */
  purser(...args: string[]): Promise<string>;
}

export async function newAgentPlace(logs?: string): Promise<AgentPlace> {
  const folder = await Deno.makeTempDir({ prefix: "purser_gate_" });
  const home = `${folder}/home`;
  await Deno.mkdir(home);
  if (logs !== undefined) await copy(LOGS + logs, home);
  const env = {
    HOME: home,
    PURSER_DB: `${folder}/books.db`,
    XDG_CONFIG_HOME: folder,
    XDG_DATA_HOME: folder,
  };
  return {
    folder,
    env,
    async purser(...args) {
      const { code, out, err } = await inProcess({ env }, args);
      assert.equal(code, 0, `${args.join(" ")}: ${err}`);
      return out;
    },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copy(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}
