import assert from "node:assert/strict";
import { relative } from "node:path/posix";
import { fileURLToPath } from "node:url";

/** The words of the field: comments, strings, names and documents use them instead of the metaphors in this table. */

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const ROOTS = ["main.ts", "cli.ts", "src", "plugins", "tests", "bench", "build", "examples", "docs"]
  .concat([...Deno.readDirSync(ROOT)].map(({ name }) => name).filter((name) => name.endsWith(".md")));

/** Files that hold such words for good. */
const EXCEPT: { path: RegExp; reason: string }[] = [
  { path: /^src\/store\/migrations\//, reason: "released migrations are frozen by a checksum" },
  { path: /^tests\/language_test\.ts$/, reason: "it has the words in its tables" },
];

/** The part of a document that lists such words. */
const GLOSSARY = /^##+ .*glossary[^]*?(?=^##+ |(?![^]))/gim;

/**
 * Metaphors for which the field has a word. Each matches whole words, also those in names such as `front_door`. Ordinary
 * words are not in it: a sentence that is read once may need them.
 */
const WORDS: { word: string; instead: string }[] = [
  { word: "doors?", instead: "authentication, access check, or entry point" },
  { word: "heed(s|ed|ing)?", instead: "track, apply, or honor" },
  { word: "glances?", instead: "read-only, reads" },
  { word: "patience", instead: "deadline, timeout" },
  { word: "tidy(ing)?|tid(y|ies|ied)( up| away)?", instead: "retention sweep, remove, clean up" },
  { word: "mend(s|ed|ing)?", instead: "fix, repair" },
  { word: "in clear", instead: "in plaintext" },
  { word: "equipment", instead: "models and tools" },
];

/** A doc comment is an indicative sentence; these words begin a question. */
const QUESTION = /^\s*(?:\/\*\*|\*) (What|How|Whether|Where|Why|Which)\b/;

const ANY_WORD = new RegExp(WORDS.map(({ word }) => `\\b(?:${word})\\b`).join("|"), "i");
const EACH_WORD = WORDS.map(({ word, instead }) => ({
  word: new RegExp(`\\b(?:${word})\\b`, "gi"),
  instead,
}));

/** Returns `word: what to write instead` for each fault of a line. */
function faultsOf(line: string, isCode: boolean): string[] {
  const words = line.replaceAll(/([a-z\d])(?=[A-Z])/g, "$1 ").replaceAll("_", " ");
  const faults = ANY_WORD.test(words)
    ? EACH_WORD.flatMap(({ word, instead }) =>
      [...words.matchAll(word)].map(([found]) => `"${found}": write ${instead}`)
    )
    : [];
  const question = isCode && QUESTION.exec(line)?.[1];
  if (question) faults.push(`"${question} …": write a sentence, as "Returns …" or "The number of …"`);
  return faults;
}

function* filesIn(path: string): Generator<string> {
  const stat = Deno.statSync(path);
  if (!stat.isDirectory) return yield path;
  for (const entry of Deno.readDirSync(path)) {
    if (entry.name === "node_modules") continue;
    if (entry.isDirectory || /\.(ts|tsx|js|mjs|css|html|md|sh)$/.test(entry.name)) {
      yield* filesIn(`${path}/${entry.name}`);
    }
  }
}

/** Returns the faults of all files under the roots, as `file:line: fault`; a name of a file is line 0. */
function scan(roots: readonly string[]): string[] {
  const faults: string[] = [];
  for (const root of roots) {
    for (const file of filesIn(ROOT + root)) {
      const path = relative(ROOT, file);
      if (EXCEPT.some((except) => except.path.test(path))) continue;
      const text = Deno.readTextFileSync(file)
        .replaceAll(GLOSSARY, (section) => section.replaceAll(/[^\n]+/g, ""));
      [path, ...text.split("\n")].forEach((line, index) => {
        for (const fault of faultsOf(line, !path.endsWith(".md"))) {
          faults.push(`${path}:${index}: ${fault}`);
        }
      });
    }
  }
  return faults;
}

Deno.test("code and documents use the words of the field", () => {
  const faults = scan(ROOTS);
  assert.ok(faults.length === 0, `${faults.length} words to replace:\n${faults.join("\n")}`);
});

Deno.test("the table finds its words in comments, strings and names, and spares ordinary ones", () => {
  const wrong = [
    "/** How many there are. */",
    'import { x } from "./front_door.ts";',
    "const PATIENCE_MS = 1;",
  ];
  for (const line of wrong) assert.equal(faultsOf(line, true).length > 0, true, line);
  const right = [
    "/** Returns how many there are. */",
    "// People who pay, and the client whose key it is, are notified.",
    "const outdoor = amended + intellect; // indoors",
    "/** Who may read it is decided before; the run goes on, and its client is told. */",
  ];
  for (const line of right) assert.deepEqual(faultsOf(line, true), [], line);
});
