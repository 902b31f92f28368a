import assert from "node:assert/strict";
import { readEnvironment } from "../../src/config/mod.ts";
import { denoCacheVariables } from "./cache_variables.ts";
import { findCli } from "./installed_cli.ts";

const [PROGRAM, ...ARGS] = await findCli();

/** An isolated environment for the real CLI. */
export interface Place extends AsyncDisposable {
  folder: string;
  env: Record<string, string>;
}

/** Creates an environment in which Purser has never run. */
export async function newPlace(): Promise<Place> {
  const folder = await Deno.makeTempDir({ prefix: "purser_cli_" });
  const { PATH = "", HOME = "" } = readEnvironment();
  const env = {
    PATH,
    HOME,
    ...denoCacheVariables(),
    XDG_CONFIG_HOME: folder,
    XDG_DATA_HOME: folder,
    PURSER_DB: `${folder}/books.db`,
  };
  return { folder, env, [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }) };
}

/** Starts the real CLI in a process of its own. */
export function start(place: Place, args: string[], stdin: "piped" | "null" = "null"): Deno.ChildProcess {
  return new Deno.Command(PROGRAM, {
    args: [...ARGS, ...args],
    clearEnv: true,
    env: place.env,
    stdin,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Runs the real CLI to its end. */
export async function purser(place: Place, args: string[], stdin?: string | Uint8Array<ArrayBuffer>) {
  const child = start(place, args, stdin === undefined ? "null" : "piped");
  if (stdin !== undefined) await new Blob([stdin]).stream().pipeTo(child.stdin);
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

/** A `purser serve` in a process of its own. */
export interface CliServer extends AsyncDisposable {
  url: string;
  child: Deno.ChildProcess;
}

/** Waits until a starting server prints its address; what it prints after that is read until `drained`. */
export async function untilItAnswers(
  child: Deno.ChildProcess,
): Promise<{ url: string; drained: Promise<void> }> {
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  let url: string | undefined;
  while (url === undefined) {
    const { done, value } = await reader.read();
    assert.ok(!done, said);
    said += value;
    url = /^Purser answers at (http:\S+)/m.exec(said)?.[1];
  }
  // Read to its end, so that the process never blocks on a full pipe.
  const drained = (async () => {
    while (!(await reader.read()).done);
  })();
  return { url, drained };
}

/** Starts the real server on a free port, and waits until it answers. The test fails unless it ends gracefully. */
export async function startServer(place: Place): Promise<CliServer> {
  const child = start(place, ["serve", "--port", "0"]);
  const { url, drained } = await untilItAnswers(child);
  return {
    url,
    child,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await Promise.all([drained, child.stdout.cancel()]);
      assert.equal((await child.status).code, 0);
    },
  };
}

/** Returns all bytes of the files of a folder, such as those of a database with its WAL, one character a byte. */
export async function databaseBytes(folder: string): Promise<string> {
  let text = "";
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (!isFile) continue;
    const bytes = await Deno.readFile(`${folder}/${name}`);
    for (let start = 0; start < bytes.length; start += 32_768) {
      text += String.fromCharCode(...bytes.subarray(start, start + 32_768));
    }
  }
  return text;
}
