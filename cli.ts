import { main, processTerminal } from "./src/cli/mod.ts";
import { readEnvironment } from "./src/config.ts";
import { surviveFaults } from "./src/survive_faults.ts";

const env = readEnvironment();
const INTERRUPTED = 130;
const terminal = processTerminal(env, () => Deno.exit(INTERRUPTED));
surviveFaults((message) => terminal.stderr.write(`error: ${message}\n`));
Deno.exit(await main(Deno.args, { env, terminal }));
