import assert from "node:assert/strict";
import { CLI_PERMISSIONS } from "../../build/permissions.ts";
import { inProcess } from "./in_process.ts";
import { findCli } from "./installed_cli.ts";

/** The folder of the repository. */
export const ROOT = new URL("../../", import.meta.url);
const [, ...CLI] = await findCli();

/** Reads a document of the repository. */
export async function readDocument(path: string): Promise<string> {
  return await Deno.readTextFile(new URL(path, ROOT));
}

/** Returns the code blocks of one language below a heading, or of the whole document. */
export function blocks(document: string, language: string, heading?: string): string[] {
  const part = heading === undefined ? document : document.split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!;
  return [...part.matchAll(/```(\w+)\n([^]*?)```/g)].filter(([, name]) => name === language).map((
    [, , code],
  ) => code!);
}

/** Runs Deno to its end. */
export async function deno(args: string[], env: Record<string, string> = {}, cwd: string | URL = ROOT) {
  const output = await new Deno.Command(Deno.execPath(), { args, env: { NO_COLOR: "1", ...env }, cwd })
    .output();
  const text = new TextDecoder();
  return { code: output.code, out: text.decode(output.stdout), err: text.decode(output.stderr) };
}

/** Splits a command line into words; quotes hold words together. */
export function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);
}

/** Runs a program of the docs in a folder, against this checkout's library. */
export async function runExample(code: string, directory: string) {
  const path = `${directory}/example.ts`;
  const library = JSON.stringify(new URL("src/mod.ts", ROOT).href);
  await Deno.writeTextFile(path, code.replaceAll('"./src/mod.ts"', library));
  const config = new URL("deno.json", ROOT).pathname;
  const result = await deno(["run", ...CLI_PERMISSIONS, "--quiet", "--config", config, path], {}, directory);
  assert.equal(result.code, 0, result.err);
  return result;
}

/** A file that a command line names, relative to its folder. */
const NAMED_FILE = /^(?:\.\/)?[\w.]+\.(?:json|db)$/;

/**
 * Runs the `purser` command lines of a document in a sandbox of their own; returns their output. Where one names a file of
 * their folder, each is a process with that folder.
 */
export async function runLines(lines: readonly string[], directory: string): Promise<string> {
  const env = { XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory };
  const needsFolder = lines.some((line) => words(line).some((word) => NAMED_FILE.test(word)));
  let output = "";
  for (const line of lines) {
    const [program, ...args] = words(line);
    assert.equal(program, "purser");
    const { code, out, err } = needsFolder
      ? await deno([...CLI, ...args], env, directory)
      : await inProcess({ env: { ...Deno.env.toObject(), ...env } }, args);
    assert.equal(code, 0, `${line}\n${err}`);
    output += out;
  }
  return output;
}
