/** What Purser does, shown with its own commands: offline, in a temporary directory that stays. */
import { main, type Output, processTerminal } from "../src/cli/mod.ts";
import { readEnvironment } from "../src/config.ts";

const folder = await Deno.makeTempDir({ prefix: "purser_demo_" });
const db = `${folder}/purser.db`;
const { NO_COLOR, TERM, LANG, LC_ALL } = readEnvironment();
// Only this: the demo shows the same whatever is set up on the machine.
const env = { NO_COLOR, TERM, LANG, LC_ALL, PURSER_DB: db };
const terminal = processTerminal(env, () => Deno.exit(130));
const { stdout } = terminal;
// One stream, so that what belongs together stays together when it is piped.
const stderr: Output = { ...stdout, write: (text) => stdout.write(text) };

tell(`Purser, offline, with its built-in demo models and a database in ${folder}`);

title("An agent with a tool answers; every model call is booked");
await purser("agents set helper --model demo:echo --tool calculator");
await purser('run helper "What is 17 * 23?" --session first');
await purser("sessions show first");

title("A budget stops a run before its next model call");
await purser("agents set looper --model demo:loop --tool calculator --budget 0.0002");
const code = await purser('run looper "Go on and on" --session second');
tell(`(exit code ${code})`);

title("What it has cost");
await purser("cost --by agent");

tell(`\nLook further: deno run -A cli.ts cost --db ${db}`);
Deno.exit(terminal.interrupted.aborted ? 130 : 0);

/** Shows a command line and runs it, as the shell would. */
async function purser(line: string): Promise<number> {
  tell(`$ purser ${line}`);
  const argv = [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
  const code = await main(argv, {
    terminal: { ...terminal, stderr, interrupted: terminal.interrupted },
    env,
  });
  if (terminal.interrupted.aborted) Deno.exit(code);
  return code;
}

function title(text: string): void {
  tell(`\n${stdout.hasColour ? `\x1b[1m${text}\x1b[22m` : text}`);
}

function tell(text: string): void {
  stdout.write(text + "\n");
}
