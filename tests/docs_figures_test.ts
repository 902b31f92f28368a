import assert from "node:assert/strict";
import { allBlocks, readAllDocuments, readDocument, ROOT, withoutCode } from "./harness/documents.ts";

/**
 * Measured figures (times, sizes, rates) are in bench/README.md, which the benchmarks fill, and in the dated records of
 * docs/decisions. Other documents link to them: a copy would be wrong after the next measurement. What stays is a limit or a
 * setting, and is compared with the constant that it comes from.
 */

const [KIB, MIB] = [1024, 1024 * 1024];

/** The documents that may have measured figures. */
const MEASURED = /^(?:bench\/README\.md|docs\/decisions\/|CHANGELOG\.md|THIRD_PARTY_NOTICES\.md|tests\/)/;

/** A number with the unit of a measurement. */
const FIGURE =
  /(?<![\w.:-])(?:\d[\d.,]* ?(?:ns|µs|us|ms|[kKMG]i?B|(?:\w+ )?a second|\w*\/s)|\d*\.\d+ (?:s|seconds))(?!\w)/g;

/** The values of constants, by the file that defines them. */
async function constantOf(file: string, name: string): Promise<number> {
  const text = await readDocument(file);
  const product = new RegExp(`\\b${name}(?:: \\w+)? ?[=:] ?([\\d_]+(?: \\* [\\d_]+)*)[;,]`).exec(text)?.[1];
  assert.ok(product !== undefined, `${file} has no ${name}`);
  return product.split(" * ").reduce((value, factor) => value * Number(factor.replaceAll("_", "")), 1);
}

type Source = readonly [file: string, constant: string, unit: number];

const ANSWER: Source = ["src/delivery/channels/http/http_client.ts", "MAX_ANSWER_BYTES", KIB];
const CONTEXT: Source = ["src/config/settings.ts", "DEFAULT_MAX_CONTEXT_BYTES", MIB];
const SMALL_PART: Source = ["src/kernel/turns.ts", "SMALL_PART_BYTES", KIB];
const GATEWAY_BODY: Source = ["src/contract/limits.ts", "MAX_GATEWAY_BODY_BYTES", MIB];

/** The sentences with a limit, in which N is the number, and its source. */
const LIMITS: readonly (readonly [document: string, sentence: string, source: Source])[] = [
  ["docs/alerts.md", "at most N KiB of a response are read", ANSWER],
  ["docs/writing_a_channel.md", "and N KiB of the response are read", ANSWER],
  ["docs/gateway.md", "A body may have N MiB", GATEWAY_BODY],
  ["docs/security.md", "They have at most N MiB", ["src/kernel/files/read_text_file.ts", "MAX_BYTES", MIB]],
  ["docs/security.md", "modules N MiB", ["src/kernel/files/import_file.ts", "MAX_BYTES", MIB]],
  ["docs/security.md", "Bodies for the gateway have at most N MiB", GATEWAY_BODY],
  ["docs/security.md", "more than N MiB of it are unread", ["src/http/routes/runs.ts", "MAX_UNREAD", MIB]],
  ["docs/security.md", "or N KiB while there is no room", SMALL_PART],
  ["docs/security.md", "Answers of up to N KiB are always made", SMALL_PART],
  ["docs/security.md", "that are larger than N KiB are parsed", [
    "src/gateway/parse_body.ts",
    "LARGE_ANSWER_BYTES",
    KIB,
  ]],
  ["docs/security.md", "`max_body_bytes`, N MiB by default", [
    "src/contract/limits.ts",
    "DEFAULT_MAX_BODY_BYTES",
    MIB,
  ]],
  ["docs/security.md", "Those with N MiB or 50,000 units are decoded", [
    "src/gateway/parse_body.ts",
    "LARGE_BODY_BYTES",
    MIB,
  ]],
  ["docs/security.md", "more than N KiB of them", [
    "src/http/server/connections.ts",
    "MAX_FRAMING_BYTES",
    KIB,
  ]],
  ["docs/security.md", "of at most N KiB", [
    "src/http/middleware/request_body.ts",
    "MAX_ANONYMOUS_BYTES",
    KIB,
  ]],
  ["docs/security.md", "and N KiB ahead", ["src/http/middleware/request_limits.ts", "BODY_STEP", KIB]],
  ["docs/security.md", "system prompt, N MiB by default", CONTEXT],
  ["docs/api.md", "A body may have N MiB, uncompressed", ["src/http/routes/otlp.ts", "MAX_BYTES", MIB]],
  ["docs/edge.md", "than their calls, or over N MiB", ["src/http/routes/otlp.ts", "MAX_EDGE_BYTES", MIB]],
  // In pages of 4 KiB.
  ["docs/security.md", "more than N MiB a server", [
    "src/store/sqlite/sqlite_store.ts",
    "SMALL_FILE_PAGES",
    MIB / 4096,
  ]],
  ["docs/security.md", "checked every N seconds", ["src/keys/key_cache.ts", "KEY_CHECK_MS", 1000]],
  ["docs/security.md", "(N ms for each 20)", ["src/sessions/log_reader.ts", "PAUSE_MS_PER_20_CALLERS", 1]],
  ["docs/snapshots.md", "`max_snapshot_bytes` (N MiB", [
    "src/config/settings.ts",
    "DEFAULT_MAX_SNAPSHOT_BYTES",
    MIB,
  ]],
  ["docs/snapshots.md", "`max_context_bytes` (N MiB)", CONTEXT],
  ["docs/snapshots.md", "besides the lists N MiB", [
    "src/snapshots/document/extras.ts",
    "MAX_EXTRA_CHARACTERS",
    MIB,
  ]],
  ["docs/prices.md", "A file has at most N MiB", ["src/pricing/updates/mod.ts", "MAX_PRICE_BYTES", MIB]],
  ["docs/reliability.md", "A tmpfs of N MB", ["tests/faults/fault_scene.ts", "DISK_BYTES", MIB]],
];

/** Figures that no constant of this repository decides. */
const OTHERS: readonly (readonly [document: string, sentence: string, why: string])[] = [
  ["docs/operating.md", "have at most 5 MB", "a limit of sqld"],
  ["docs/snapshots.md", "values of at most 5 MB", "a limit of sqld"],
  ["docs/security.md", "headers over 16 KiB 431", "Node's own limit, tried by tests/connections_test.ts"],
  ["docs/security.md", "and then one every 100 ms", "a minute through the 600 of the example"],
  [
    "docs/security.md",
    "up to 0.1 s; a higher one",
    "the promise of a server, which counts bytes and values instead: tests/turns_test.ts",
  ],
  [
    "docs/security.md",
    "below 0.1 s of a processor",
    "the promise of a server, which counts bytes and values instead: tests/turns_test.ts",
  ],
  [
    "docs/gateway.md",
    "as are parsed in less than 0.1 s",
    "the promise of a server, which counts bytes and values instead: tests/turns_test.ts",
  ],
  [
    "docs/security.md",
    "each below 0.1 s",
    "the promise of a server, which counts bytes and values instead: tests/turns_test.ts",
  ],
];

const inOneLine = (text: string) => text.replaceAll(/\s+/g, " ");

Deno.test("every limit that a document names is that of its constant", async () => {
  for (const [path, sentence, [file, name, unit]] of LIMITS) {
    const text = inOneLine(await readDocument(path));
    const expected = sentence.replace("N", String(await constantOf(file, name) / unit));
    assert.ok(text.includes(expected), `${path} must say “${expected}”: ${name} in ${file}`);
  }
});

Deno.test("no document repeats a measured figure: what has a unit of measurement is a limit with a source", async () => {
  const found: string[] = [];
  for (const { path, text } of await readAllDocuments()) {
    if (MEASURED.test(path)) continue;
    const known = [...LIMITS, ...OTHERS].filter(([document]) => document === path).map(([, sentence]) =>
      new RegExp(sentence.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace("N", "[\\d.,]+"), "g")
    );
    const rest = known.reduce((rest, sentence) => {
      assert.match(rest, sentence, path);
      return rest.replace(sentence, "");
    }, inOneLine(withoutCode(text)));
    for (const { 0: figure, index } of rest.matchAll(FIGURE)) {
      found.push(
        `${path}: ${figure} in “…${rest.slice(Math.max(0, index - 40), index + figure.length + 20)}…”`,
      );
    }
  }
  assert.deepEqual(found, [], "link to bench/README.md instead, or name the limit's constant in LIMITS");
});

Deno.test("the scan finds times, sizes and rates", () => {
  const figures = [
    "takes 35 ms, 1.2 s or 10 µs",
    "2.7 MB, 64 KiB, 100,000 kB",
    "134 calls/s and 280 calls a second",
  ]
    .map((text) => [...text.matchAll(FIGURE)].map(([figure]) => figure));
  assert.deepEqual(figures, [["35 ms", "1.2 s", "10 µs"], ["2.7 MB", "64 KiB", "100,000 kB"], [
    "134 calls/s",
    "280 calls a second",
  ]]);
  assert.doesNotMatch("within 30 s, of 8420 ports, version 2.9.6, in 3 seconds", FIGURE);
});

Deno.test("every task and benchmark that a document names exists", async () => {
  const { tasks } = JSON.parse(await readDocument("deno.json"));
  const benchmarks = new Set<string>();
  for await (const { name } of Deno.readDir(new URL("bench", ROOT))) {
    benchmarks.add(name.replace(/\.ts$/, ""));
  }
  const missing: string[] = [];
  let found = 0;
  for (const { path, text } of await readAllDocuments()) {
    if (path === "CHANGELOG.md") continue;
    const all = text + allBlocks(text).map(({ code }) => code).join();
    for (const [, task, bench] of all.matchAll(/\bdeno(?:@[\d.]+)? task ([a-z][\w:]*)(?: ([a-z]\w*))?/g)) {
      found++;
      if (!(task! in tasks)) missing.push(`${path}: deno task ${task}`);
      else if (task === "bench" && bench !== undefined && !benchmarks.has(bench)) {
        missing.push(`${path}: ${bench}`);
      }
    }
  }
  assert.deepEqual(missing, []);
  assert.ok(found > 30, String(found));
});
