import assert from "node:assert/strict";
import { join, normalize } from "node:path/posix";
import { anchorsOf, readAllDocuments, ROOT, withoutCode } from "./harness/documents.ts";

/** Every link of the documents leads to a file of the repository, and every anchor to a heading. */

const documents = await readAllDocuments();
const textOf = new Map(documents.map(({ path, text }) => [path, text]));

/** The folders whose files name documents in comments and messages. */
const SOURCES = ["src", "plugins", "build", "bench", "tests", "examples", "cli.ts", "main.ts"];

const exists = async (path: string) => await Deno.stat(new URL(path, ROOT)).then(() => true, () => false);

/** Returns the reason why a link is broken; undefined if it isn't. */
async function faultOf(path: string, anchor: string | undefined): Promise<string | undefined> {
  if (!await exists(path)) return `there is no ${path}`;
  if (anchor === undefined) return;
  const text = textOf.get(path);
  if (text === undefined) return `${path} has no anchors`;
  return anchorsOf(text).has(anchor) ? undefined : `${path} has no heading #${anchor}`;
}

Deno.test("every relative link of every document leads to a file, and every anchor to a heading", async () => {
  const faults: string[] = [];
  const found = { links: 0, anchors: 0 };
  for (const { path, text } of documents) {
    for (
      const [, , target = ""] of withoutCode(text).matchAll(
        /\[((?:[^[\]]|\[[^\]]*\])*)\]\(<?([^)\s>]+)>?[^)]*\)/g,
      )
    ) {
      if (/^[a-z]+:/.test(target)) continue;
      const [file = "", anchor] = target.split("#");
      found.links++;
      if (anchor !== undefined) found.anchors++;
      const fault = await faultOf(file === "" ? path : normalize(join(path, "..", file)), anchor);
      if (fault !== undefined) faults.push(`${path}: ${target}: ${fault}`);
    }
  }
  assert.deepEqual(faults, []);
  assert.ok(found.links > 350 && found.anchors > 70, JSON.stringify(found));
});

async function sourcesIn(path: string): Promise<string[]> {
  if (/\w\.[a-z]+$/.test(path)) return [path];
  const entries = await Array.fromAsync(Deno.readDir(new URL(path, ROOT)));
  const nested = await Promise.all(
    entries.map(({ name, isDirectory }) =>
      isDirectory
        ? sourcesIn(`${path}/${name}`)
        : /\.tsx?$|\.jsonc?$|Dockerfile$/.test(name)
        ? [`${path}/${name}`]
        : []
    ),
  );
  return nested.flat();
}

Deno.test("every document that a source names exists, with the heading that it names", async () => {
  const paths = (await Promise.all(SOURCES.map(sourcesIn))).flat().filter((path) =>
    !/_bundle|\/data\//.test(path)
  );
  const faults: string[] = [];
  let found = 0;
  for (const path of paths) {
    const text = await Deno.readTextFile(new URL(path, ROOT));
    for (
      const [, document, anchor] of text.matchAll(
        /\b((?:docs|bench|plugins|examples)\/[\w/]*\w\.md)(?:#([\w-]+))?/g,
      )
    ) {
      found++;
      const fault = await faultOf(document!, anchor);
      if (fault !== undefined) faults.push(`${path}: ${fault}`);
    }
  }
  assert.deepEqual(faults, []);
  assert.ok(found > 50, String(found));
});

Deno.test("an anchor is made of its heading as GitHub makes it", () => {
  const text =
    "# A `code` title, of “two”\n\n## A\n\n## A\n\n```sh\n# no heading\n```\n\n### [Link](x.md) & _more_\n";
  assert.deepEqual([...anchorsOf(text)], ["a-code-title-of-two", "a", "a-1", "link--more"]);
});
