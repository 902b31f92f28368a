import assert from "node:assert/strict";
import { CLI_PERMISSIONS } from "../../build/permissions.ts";
import { inProcess } from "./in_process.ts";
import { findCli } from "./installed_cli.ts";

/** The folder of the repository. */
export const ROOT = new URL("../../", import.meta.url);
const [, ...CLI] = await findCli();

/** A document of the repository. */
export interface Document {
  path: string;
  text: string;
}

/** The folders and files with the documents. */
const DOCUMENTS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "THIRD_PARTY_NOTICES.md"]
  .concat(
    ["docs", "bench", "build", "examples", "plugins", "tests"],
  );

/** Reads every document of the repository, in the order of their paths. */
export async function readAllDocuments(): Promise<Document[]> {
  const paths = (await Promise.all(DOCUMENTS.map(findDocuments))).flat().sort();
  return await Promise.all(paths.map(async (path) => ({ path, text: await readDocument(path) })));
}

async function findDocuments(path: string): Promise<string[]> {
  if (path.endsWith(".md")) return [path];
  const entries = await Array.fromAsync(Deno.readDir(new URL(path, ROOT)));
  const nested = await Promise.all(
    entries.map(({ name, isDirectory }) =>
      isDirectory || name.endsWith(".md") ? findDocuments(`${path}/${name}`) : []
    ),
  );
  return nested.flat();
}

/** A code block of a document. */
export interface CodeBlock {
  language: string;
  code: string;
  /** The line of the document at which it begins. */
  line: number;
}

const FENCE = /^( *)```(\w*)\n([^]*?)^\1```$/gm;

/** Returns the code blocks of a document; those in lists are without the indent of the list. */
export function allBlocks(text: string): CodeBlock[] {
  return [...text.matchAll(FENCE)].map(({ 1: indent, 2: language, 3: code, index }) => ({
    language: language!,
    code: code!.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    line: text.slice(0, index).split("\n").length,
  }));
}

/** Returns a document without its code blocks. */
export const withoutCode = (text: string): string => text.replaceAll(FENCE, "");

/** Returns the anchors of a document's headings, as GitHub makes them. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of withoutCode(text).matchAll(/^#{1,6} +(.*?) *$/gm)) {
    const words = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/(?<!\w)_|_(?!\w)/g, "");
    const base = words.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
    let anchor = base;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${base}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

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
