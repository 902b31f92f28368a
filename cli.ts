import { guardTerminal, main, processTerminal } from "./src/cli/mod.ts";
import { readEnvironment } from "./src/config/mod.ts";
import { surviveFaults, thisProcess, thisRelease } from "./src/kernel/this_process.ts";

const INTERRUPTED = 130;
const { args, exit } = thisProcess();
const env = readEnvironment();
const terminal = guardTerminal(processTerminal(env, () => exit(INTERRUPTED)));
surviveFaults((message) => terminal.stderr.write(`error: ${message}\n`));
exit(await main(args, { env, terminal, release: thisRelease() }));
