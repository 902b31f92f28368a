import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { anyCharacter } from "../../../tests/harness/any_character.ts";
import { rejection } from "../../../tests/harness/test_purser.ts";
import { PurserError } from "../../kernel/errors.ts";
import { createSpool, openTemporaryFile, type Spool, type TemporaryFile } from "./spool.ts";

const MIB = 1024 * 1024;

async function fill(spool: Spool, lines: Iterable<string>): Promise<void> {
  for (const line of lines) await spool.add(line);
}

async function linesOf(spool: Spool): Promise<string[]> {
  return (await Array.fromAsync(spool.pages())).flat();
}

/** Temporary files in a directory of their own, counted. */
interface WatchedFiles extends AsyncDisposable {
  directory: string;
  count: number;
  open(): Promise<TemporaryFile>;
}

async function watchFiles(): Promise<WatchedFiles> {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const files: WatchedFiles = {
    directory,
    count: 0,
    open() {
      files.count++;
      return openTemporaryFile(directory);
    },
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
  return files;
}

for (
  const [place, memoryCharacters] of [["memory", undefined], ["a file", 0], [
    "memory and a file",
    60,
  ]] as const
) {
  Deno.test(`createSpool() returns lines in order from ${place}, as often as they are read`, async () => {
    const line = fc.oneof(fc.json(), fc.string({ unit: anyCharacter }).map((text) => JSON.stringify(text)));
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 20 }), async (lines) => {
        await using spool = createSpool({ memoryCharacters });
        await fill(spool, lines);
        assert.equal(spool.count, lines.length);
        for (let time = 0; time < 3; time++) assert.deepEqual(await linesOf(spool), lines);
      }),
      { numRuns: 60 },
    );
  });

  Deno.test(`createSpool() is read to its end from ${place} after a read that ended early`, async () => {
    await using spool = createSpool({ memoryCharacters });
    const lines = Array.from({ length: 5_000 }, (_, index) => `"${index}: ${"x".repeat(500)}"`);
    await fill(spool, lines);
    for await (const _page of spool.pages()) break;
    assert.deepEqual(await linesOf(spool), lines);
  });

  Deno.test(`createSpool() is read twice at once from ${place}`, async () => {
    await using spool = createSpool({ memoryCharacters });
    const lines = Array.from({ length: 8_000 }, (_, index) => `"${index}: ${"x".repeat(500)}"`);
    await fill(spool, lines);
    const readers = [spool.pages(), spool.pages()];
    const read: string[][] = [[], []];
    for (let open = 2; open > 0;) {
      open = 0;
      for (const [index, reader] of readers.entries()) {
        const { done, value } = await reader.next();
        if (done) continue;
        open++;
        for (const line of value) read[index]!.push(line);
      }
    }
    assert.ok(
      read[0]!.length === lines.length && read[1]!.length === lines.length,
      `${read.map((all) => all.length)}`,
    );
    assert.deepEqual(read, [lines, lines]);
    assert.deepEqual(await Promise.all([linesOf(spool), linesOf(spool)]), [lines, lines]);
  });

  Deno.test(`createSpool() returns nothing from ${place} without any line`, async () => {
    await using spool = createSpool({ memoryCharacters });
    assert.equal(spool.count, 0);
    assert.deepEqual(await Array.fromAsync(spool.pages()), []);
  });
}

Deno.test("createSpool() decodes characters that span two pages of the file", async () => {
  for (let shift = 0; shift < 8; shift++) {
    await using spool = createSpool({ memoryCharacters: 0 });
    const lines = [
      `"${"x".repeat(MIB - 6 + shift)}😀é漢"`,
      `"${"😀".repeat(MIB / 4)}"`,
      '"漢"',
      `"${"é".repeat(MIB)}"`,
    ];
    await fill(spool, lines);
    const read = await linesOf(spool);
    assert.equal(read.length, lines.length);
    assert.ok(read.every((line, index) => line === lines[index]), `shifted by ${shift}`);
  }
});

Deno.test("createSpool() returns pages of bounded size, except for a single larger line", async () => {
  await using spool = createSpool({ memoryCharacters: 0 });
  const huge = `"${"x".repeat(3 * MIB)}"`;
  const small = Array.from({ length: 3_000 }, (_, index) => `"${index}: ${"x".repeat(1_000)}"`);
  await fill(spool, [...small, huge, ...small]);
  const sizes: number[] = [];
  for await (const page of spool.pages()) sizes.push(page.join("\n").length);
  assert.ok(sizes.length > 5, `${sizes.length} pages`);
  assert.ok(
    sizes.every((size) => size <= 5 * MIB) && sizes.filter((size) => size > 2 * MIB).length <= 1,
    `${sizes}`,
  );
});

Deno.test("createSpool() keeps few lines without a file", async () => {
  await using files = await watchFiles();
  await using spool = createSpool({ memoryCharacters: 100, openFile: () => files.open() });
  await fill(spool, ['"x"', `"${"x".repeat(90)}"`]);
  assert.equal((await linesOf(spool)).length, 2);
  assert.equal(files.count, 0);
});

Deno.test("createSpool() creates one file, which is unlinked while in use", async () => {
  await using files = await watchFiles();
  await using spool = createSpool({ memoryCharacters: 10, openFile: () => files.open() });
  await fill(spool, Array.from({ length: 300 }, () => `"${"x".repeat(10_000)}"`));
  assert.equal((await linesOf(spool)).length, 300);
  assert.equal(files.count, 1);
  if (Deno.build.os !== "windows") assert.deepEqual([...Deno.readDirSync(files.directory)], []);
});

Deno.test("createSpool() is disposable more than once, also during a read", async () => {
  for (const memoryCharacters of [0, undefined]) {
    const spool = createSpool({ memoryCharacters });
    await fill(spool, Array.from({ length: 3_000 }, () => `"${"x".repeat(1_000)}"`));
    await spool.pages().next();
    await spool[Symbol.asyncDispose]();
    await spool[Symbol.asyncDispose]();
  }
});

Deno.test("createSpool() reports faults of the temporary directory", async () => {
  const faults: [Error, RegExp][] = [
    [Object.assign(new Error("no space left"), { code: "ENOSPC" }), /is on a full disk/],
    [new Error("denied"), /can't be used: denied/],
  ];
  for (const [fault, pattern] of faults) {
    await using spool = createSpool({ memoryCharacters: 0, openFile: () => Promise.reject(fault) });
    const error = await rejection(Promise.resolve(spool.add('"x"')));
    assert.equal(error.code, "unavailable");
    assert.match(error.message, pattern);
    assert.equal(error.cause, fault);
  }
});

Deno.test("createSpool() reports a missing temporary directory", async () => {
  const openFile = () => openTemporaryFile("/purser-test/no/such/directory");
  await using spool = createSpool({ memoryCharacters: 0, openFile });
  const error = await rejection(Promise.resolve(spool.add('"x"')));
  assert.match(error.message, /the directory for temporary files can't be used: ENOENT/);
});

Deno.test("createSpool() keeps everything in memory where there are no files", async () => {
  await using spool = createSpool({ memoryCharacters: 0, openFile: undefined });
  await fill(spool, ['"x"', '"y"']);
  assert.deepEqual(await linesOf(spool), ['"x"', '"y"']);
});

Deno.test("createSpool() refuses more than fits in memory where it may create no file", async () => {
  await using files = await watchFiles();
  const refusal = new PurserError("unsupported", "Cannot keep it");
  await using spool = createSpool({ memoryCharacters: 8, openFile: files.open, refuse: () => refusal });
  await fill(spool, ['"x"', '"yyy"']);
  assert.throws(() => spool.add('"z"'), refusal);
  assert.equal(files.count, 0);
});
