import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { loadAllCommands } from "../../src/cli/command_table.ts";
import { splitLine } from "../harness/split_line.ts";
import { readEnvironment } from "../../src/config/mod.ts";
import { denoCacheVariables } from "../harness/cache_variables.ts";
import { inProcess } from "../harness/in_process.ts";
import { startSqld } from "../harness/sqld.ts";
import { isThorough } from "../harness/thorough.ts";
import { createNormaliser, normaliseOutcome, type Outcome } from "./normalise.ts";
import type { Row } from "./row.ts";
import { ROWS } from "./rows.ts";

const COMMANDS = await loadAllCommands();

/** The program to start: a command and its first arguments. */
export type Program = readonly string[];

/** A kind of database that the table is run over. */
export type Database = "file" | "sqld";

/** A place to run the table in. */
export interface Setting {
  database: Database;
  /**
   * Starts a process for the first row of each group of commands, of each exit code and of standard input, and for those that
   * need one; in a thorough run for all. Through a server, it does so for each command in a thorough run only. This process runs the other
   * rows, beside them. Without it, it runs them all.
   */
  program?: Program;
  /** The program of a server, started before the first row, through which all rows work. */
  server?: Program;
  /** Further variables of its processes. */
  env?: Record<string, string>;
  /** The rows to run; all of them by default. */
  rows?: readonly Row[];
}

/** An isolated environment in which the story takes place. */
interface Place extends AsyncDisposable {
  name: string;
  database: Database;
  folder: string;
  env: Record<string, string>;
}

/** The outcomes of the table in one sandbox. */
interface Story {
  name: string;
  results: { row: Row; outcome: Outcome }[];
  /** Rows with an unexpected outcome. */
  faults: string[];
}

const show = (outcome: Outcome) => JSON.stringify(outcome, null, 2);

/**
 * Runs the table in several settings, all in parallel in sandboxes of their own. Every row must have its expected
 * outcome, the same in all sandboxes.
 */
export async function testCliTable(settings: readonly Setting[]): Promise<void> {
  const played = await Promise.allSettled(settings.map(play));
  const stories = played.map((story) => {
    if (story.status === "rejected") throw story.reason;
    return story.value;
  });
  const [model, ...others] = stories as [Story, ...Story[]];
  const faults = stories.flatMap((story) => story.faults);
  for (const { name, results } of others) {
    for (const { row, outcome } of results) {
      const expected = model.results.find((result) => result.row === row);
      if (!expected || isDeepStrictEqual(outcome, expected.outcome)) continue;
      faults.push(
        `purser ${row.line}\n${name}: ${show(outcome)}\n${model.name}: ${show(expected.outcome)}`,
      );
    }
  }
  assert.equal(faults.length, 0, `${faults.length} rows are wrong\n\n${faults.join("\n\n")}`);
}

async function play({ program, server, database, env: more, rows = ROWS }: Setting): Promise<Story> {
  const name = `${program ? "processes" : "this process"} ${
    server ? "through a server " : ""
  }over ${database}`;
  await using place = await newPlace(name, database);
  Object.assign(place.env, more);
  if (!server) return await playRows(program, rows, place, place.env);
  const serving = start(server, place, place.env, ["serve", "--port", "0"], "null");
  const stdout = new Response(serving.stdout).text();
  const reader = serving.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  const url = await (async () => {
    for (;;) {
      const { done, value = "" } = await reader.read();
      said += value;
      const found = /^Purser answers at (http:\/\/\S+)/m.exec(said);
      if (found) return found[1]!;
      assert.ok(!done, `the server ended: ${said}`);
    }
  })();
  const drained = (async () => {
    for (;;) {
      const { done, value = "" } = await reader.read();
      if (done) return;
      said += value;
    }
  })();
  try {
    const { PURSER_DB: _, ...env } = place.env;
    return await playRows(program, rows, place, { ...env, PURSER_SERVER: url });
  } finally {
    serving.kill("SIGINT");
    const { code } = await serving.status;
    await drained;
    assert.deepEqual([code, await stdout], [0, ""], `purser serve: ${said}`);
    assert.match(said, /Shutting down/);
  }
}

async function playRows(
  program: Program | undefined,
  rows: readonly Row[],
  place: Place,
  env: Record<string, string>,
): Promise<Story> {
  const kept = new Map([["FOLDER", place.folder]]);
  const ofProcesses = program && rowsOfProcesses(rows, "PURSER_SERVER" in env);
  const normalise = createNormaliser(place.folder);
  const results: Story["results"] = [];
  const faults: string[] = [];
  for (const row of rows) {
    if ((row.isOffline && place.database !== "file") || (row.needsProcess && !program)) continue;
    const line = row.line.replaceAll(/\$([A-Z]+)/g, (_, name: string) => kept.get(name) ?? "");
    const outcome = await run(ofProcesses?.has(row) ? program : undefined, place, env, row, line);
    const isRight = outcome.code === (row.code ?? 0) &&
      (row.out?.test(outcome.out) ?? (row.code === undefined || outcome.out === "")) &&
      (row.err?.test(outcome.err) ?? true);
    if (!isRight) faults.push(`purser ${line}, ${place.name}\n${show(outcome)}`);
    if (row.keep) kept.set(row.keep[0], row.keep[1].exec(outcome.out)?.[1] ?? "nothing");
    // The ids of a row that is not run everywhere don't count for the others.
    const replace = row.isOffline ? createNormaliser(place.folder) : normalise;
    results.push({ row, outcome: normaliseOutcome(outcome, replace, row.varying) });
  }
  return { name: place.name, results, faults };
}

/**
 * Each group of commands once, such as `budgets`, at work where a row has it so: its commands are in the same modules. What a
 * process makes of an exit code does not depend on the command, nor on a server.
 */
function rowsOfProcesses(rows: readonly Row[], isRemote: boolean): Set<Row> {
  const commandOf = ({ line }: Row) =>
    COMMANDS.findLast(({ name }) => `${line} `.startsWith(`${name} `))?.name ?? line;
  const groupOf = (row: Row) => commandOf(row).split(" ")[0]!;
  const atWork = new Set(rows.filter(({ code = 0 }) => code === 0).map(groupOf));
  const seen = new Set<string>();
  return new Set(rows.filter((row) => {
    const { code = 0, stdin, needsProcess } = row;
    const group = groupOf(row);
    const kinds = isRemote ? isThorough && code === 0 ? [commandOf(row)] : [] : [
      ...(code === 0 || !atWork.has(group) ? [group] : []),
      `exit code ${code}`,
      ...(stdin === undefined ? [] : ["standard input"]),
    ];
    const isFirst = kinds.some((kind) => !seen.has(kind));
    for (const kind of kinds) seen.add(kind);
    return isFirst || isThorough && !isRemote || needsProcess;
  }));
}

async function run(
  program: Program | undefined,
  place: Place,
  env: Record<string, string>,
  { stdin }: Row,
  line: string,
): Promise<Outcome> {
  if (!program) return await inProcess({ env }, splitLine(line), stdin);
  const child = start(program, place, env, splitLine(line), stdin === undefined ? "null" : "piped");
  if (stdin !== undefined) await new Blob([stdin]).stream().pipeTo(child.stdin);
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

function start(
  [command, ...before]: Program,
  { folder }: Place,
  env: Record<string, string>,
  args: readonly string[],
  stdin: "piped" | "null",
): Deno.ChildProcess {
  return new Deno.Command(command!, {
    args: [...before, ...args],
    cwd: folder,
    clearEnv: true,
    env,
    stdin,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function newPlace(name: string, database: Database): Promise<Place> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "purser_table_" }));
  const sqld = database === "sqld" ? await startSqld({ durability: "strong" }) : undefined;
  await Deno.mkdir(`${folder}/purser`);
  // Connections are refused there: no process listens on port 1.
  const hook = { kind: "webhook", name: "hook", url: "http://127.0.0.1:1/", timeout_ms: 1_000 };
  await Deno.writeTextFile(
    `${folder}/purser/purser.json`,
    JSON.stringify({
      channels: [hook],
      allow_private_networks: ["127.0.0.0/8"],
      approval_timeout_seconds: 0,
    }),
  );
  const bill = "starts_at,model,amount\n2026-11-25,mistral-large,2\n2026-11-26,mistral-small,-0.25\n";
  await Deno.writeTextFile(`${folder}/bill.csv`, bill);
  if (!sqld) await Deno.writeTextFile(`${folder}/books.db`, ""); // as an empty database: commands read it first
  const { PATH = "", HOME = "" } = readEnvironment();
  return {
    name,
    database,
    folder,
    env: {
      PATH,
      HOME,
      ...denoCacheVariables(),
      XDG_CONFIG_HOME: folder,
      XDG_DATA_HOME: folder,
      TMPDIR: folder,
      PURSER_DB: sqld?.url ?? `${folder}/books.db`,
    },
    async [Symbol.asyncDispose]() {
      await sqld?.[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
