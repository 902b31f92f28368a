import { main, processTerminal } from "./src/cli/mod.ts";
import { readEnvironment } from "./src/config.ts";

const env = readEnvironment();
const INTERRUPTED = 130;
Deno.exit(await main(Deno.args, { env, terminal: processTerminal(env, () => Deno.exit(INTERRUPTED)) }));
