/**
 * The suite that every importer passes: the built-in ones, and any plugin whose author calls `testImporter` in a test file, for
 * `deno test` or `node --test`. It reads no file but its fixtures.
 *
 * @module
 */
import assert from "node:assert/strict";
import { basename, isAbsolute } from "node:path";
import type { Sighting } from "../../../calls/mod.ts";
import { registerTest } from "../../../delivery/channels/testing/_test_runner.ts";
import { importFile } from "../../../kernel/files/import_file.ts";
import { makeImporter } from "../load_importers.ts";
import { IMPORTER_CONTRACT, type LogFile, type LogImporter } from "../importer.ts";
import { checkCalls, type Fixture, mergeCalls, readFixtures } from "./_fixture.ts";
import { createMemoryImport, type Files, HOME, type LogContent, logsOf, rootsOf } from "./_memory_import.ts";
import { mutate, type Random } from "./_mutate.ts";

export type { Expected, ExpectedCall } from "./_fixture.ts";

/** The description of an importer for the suite. */
export interface ConformanceOptions {
  /** The absolute path of a folder with a folder for each fixture: the logs of a home folder, and their `expected.json`. */
  fixtures: string;
  /** Its name in the names of the tests; by default that of its file. */
  name?: string;
  /** The number of changed records that are tried; by default 200. */
  mutations?: number;
}

/** Registers the suite for one importer, given the absolute path of its module or a function that loads it. */
export function testImporter(
  source: string | (() => Promise<LogImporter>),
  { fixtures: folder, name = typeof source === "string" ? basename(source, ".ts") : "", mutations = 200 }:
    ConformanceOptions,
): void {
  const load = typeof source === "string"
    ? async () => await makeImporter((await importFile(source)).default)
    : source;
  const test = (what: string, run: (importer: LogImporter) => void) =>
    registerTest(`${name} ${what}`, async () => run(await load()));

  test("describes itself", checkDescription);
  const fixtures = readFixtures(folder);
  for (const fixture of fixtures) {
    const { name: title, files, expected } = fixture;
    test(`tells each call of ${title} once, and nothing else`, (importer) => {
      const content = createMemoryImport(importer).read(files);
      checkContent(content, fixture);
      assert.equal(content.malformed.length, expected.malformed ?? 0, content.malformed.join("\n"));
      if (expected.unmetered !== undefined) assert.equal(content.unmetered.length, expected.unmetered);
      if (expected.unknown) assert.deepEqual(content.unknown, expected.unknown);
    });
    test(`tells the calls of ${title} again under the same names, and none where nothing is new`, (importer) => {
      const one = createMemoryImport(importer);
      const first = one.read(files);
      assert.deepEqual(one.read(files).calls, []);
      const again = createMemoryImport(importer).read(files);
      assert.deepEqual(again, first);
      checkCalls(mergeCalls([...first.calls, ...again.calls]), expected);
    });
    test(`reads the files of ${title} in any order`, (importer) => {
      if (!expected.isOrdered) {
        for (const order of ordersOf(logsIn(importer, files))) readOneByOne(importer, fixture, order);
      }
    });
    test(`reads ${title} up to any line, and goes on from there`, (importer) =>
      readInParts(importer, fixture));
    test(`leaves a line of ${title} that isn't complete for later`, (importer) => {
      if (!expected.isOrdered) readCutFiles(importer, fixture);
    });
  }
  test("survives changed records", (importer) => {
    const random = randomNumbers(name);
    const each = Math.ceil(mutations / fixtures.length);
    for (const fixture of fixtures) for (let i = 0; i < each; i++) readChanged(importer, fixture, random);
  });
}

function checkDescription(importer: LogImporter): void {
  assert.equal(importer.contract, IMPORTER_CONTRACT);
  assert.match(importer.name, /^[a-z][a-z0-9-]{0,31}$/);
  for (const text of [importer.title, importer.seen]) assert.ok(text.trim() !== "");
  for (const hole of importer.holes) assert.match(hole, /^[A-Z].*[^.]\.$/, "a hole is a sentence");
  assert.ok(importer.kinds.length > 0);
  for (const os of ["linux", "darwin", "windows"] as const) {
    const home = os === "windows" ? "C:/Users/dev" : HOME;
    const roots = importer.roots({ os, home, env: () => undefined });
    assert.ok(roots.length > 0 || importer.api, `it has no folder on ${os}`);
    for (const root of roots) {
      assert.ok(isAbsolute(root) || /^[A-Z]:[\\/]/.test(root), `${root} isn't absolute`);
    }
  }
}

/** Checks that no file tells a call twice, and that together they are the expected ones. */
function checkContent({ calls, told }: LogContent, { expected }: Fixture): void {
  assert.deepEqual(told.filter((one, index) => told.indexOf(one) !== index), [], "a file tells a call twice");
  checkCalls(mergeCalls(calls), expected);
}

/** Adds one log after the other, each read as soon as it is there. */
function readOneByOne(importer: LogImporter, fixture: Fixture, order: readonly string[]): void {
  const one = createMemoryImport(importer);
  const present = new Map([...fixture.files].filter(([path]) => !order.includes(path)));
  const calls: Sighting[] = [];
  for (const path of order) {
    present.set(path, fixture.files.get(path)!);
    calls.push(...one.read(present).calls);
  }
  checkCalls(mergeCalls(calls), fixture.expected);
}

/** Lets the files grow by one line at a time, all to the same time, with an import after each. */
function readInParts(importer: LogImporter, fixture: Fixture): void {
  const logs = logsIn(importer, fixture.files);
  const one = createMemoryImport(importer);
  const files = new Map(fixture.files);
  const ends = new Map<string, number>();
  for (const { path } of logs) {
    if (canBeCut(importer, path, fixture.files)) files.set(path, new Uint8Array());
  }
  const calls: Sighting[] = [];
  for (const { path } of logs) {
    const bytes = fixture.files.get(path)!;
    let end = files.get(path) === bytes ? bytes.length : 0;
    do {
      const next = bytes.indexOf(10, end);
      end = next === -1 ? bytes.length : next + 1;
      ends.set(path, end);
      files.set(path, bytes.slice(0, end));
      calls.push(...one.read(files).calls);
    } while (end < bytes.length);
  }
  checkCalls(mergeCalls(calls), fixture.expected);
}

/** Cuts each file at some bytes, and completes it. */
function readCutFiles(importer: LogImporter, fixture: Fixture): void {
  const random = randomNumbers(fixture.name);
  for (const { path } of logsIn(importer, fixture.files)) {
    if (!canBeCut(importer, path, fixture.files)) continue;
    const bytes = fixture.files.get(path)!;
    for (let i = 0; i < 12; i++) {
      const one = createMemoryImport(importer);
      const cut = i === 0 ? bytes.length - 2 : Math.floor(random() * bytes.length);
      const first = one.read(new Map([...fixture.files, [path, bytes.slice(0, cut)]]));
      const rest = one.read(fixture.files);
      checkCalls(mergeCalls([...first.calls, ...rest.calls]), fixture.expected);
    }
  }
}

/** Changes a record of one file, which may have up to three calls: no more are told, unless calls are differences of sums. */
function readChanged(importer: LogImporter, { files, expected }: Fixture, random: Random): void {
  const logs = logsIn(importer, files).filter(({ path }) => canBeCut(importer, path, files));
  const log = logs[Math.floor(random() * logs.length)];
  if (log === undefined) return;
  const text = new TextDecoder().decode(files.get(log.path));
  const changed = new TextEncoder().encode(mutate(text, random));
  const { calls } = createMemoryImport(importer).read(new Map([...files, [log.path, changed]]));
  if (expected.calls.some(({ quality }) => quality === "derived")) return;
  const most = expected.calls.length + 3;
  const merged = mergeCalls(calls);
  assert.ok(merged.length <= most, `${merged.length} calls, at most ${most} are expected`);
}

/** A compressed file or a database is written as a whole. */
function canBeCut(importer: LogImporter, path: string, files: Files): boolean {
  const log = logsIn(importer, files).find((one) => one.path === path)!;
  const { read } = importer.kinds.find(({ has }) => has(log.name))!;
  return read.form === "whole" || (read.form === "lines" && read.compressed === undefined);
}

function logsIn(importer: LogImporter, files: Files): LogFile[] {
  return logsOf(importer, rootsOf(importer), files);
}

/** All orders of up to four logs, and some of more. */
function ordersOf(logs: readonly LogFile[]): string[][] {
  const paths = logs.map(({ path }) => path);
  if (paths.length <= 4) return permutations(paths);
  const random = randomNumbers("order");
  const shuffled = () =>
    paths.map((path) => [random(), path] as const).sort(([a], [b]) => a - b).map(([, path]) => path);
  return [paths, paths.toReversed(), ...Array.from({ length: 20 }, shuffled)];
}

function permutations(paths: readonly string[]): string[][] {
  if (paths.length <= 1) return [[...paths]];
  return paths.flatMap((path) =>
    permutations(paths.filter((one) => one !== path)).map((rest) => [path, ...rest])
  );
}

/** Numbers that are the same for the same seed (mulberry32). */
function randomNumbers(seed: string): Random {
  let state = [...seed].reduce((sum, letter) => (Math.imul(sum, 31) + letter.codePointAt(0)!) >>> 0, 7);
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
