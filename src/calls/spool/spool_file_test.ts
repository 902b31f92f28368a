import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "#dev/fast_check.ts";
import { inDirectory } from "../../../tests/harness/in_directory.ts";
import { files } from "../../kernel/files/files.ts";
import { readRecords, SpoolFile } from "./spool_file.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const textOf = (content: Uint8Array) => new TextDecoder().decode(content);

async function textsIn(path: string): Promise<string[]> {
  return readRecords(await files.readBytes(path)).records.map(({ content }) => textOf(content));
}

Deno.test("a spool has its space before its records, and returns those that are not done, in order", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "one.spool");
    const spool = await SpoolFile.create(path);
    const { size, mode } = await Deno.stat(path);
    assert.ok(size >= 128 * 1024);
    assert.equal(mode! & 0o777, 0o600);
    const positions = await Promise.all(
      ["first", "second", "third"].map((text) => spool.append(bytesOf(text))),
    );
    assert.equal((await Deno.stat(path)).size, size);
    assert.deepEqual(await textsIn(path), ["first", "second", "third"]);
    await spool.markDone(positions[1]!);
    assert.deepEqual(await textsIn(path), ["first", "third"]);
    await spool.clear();
    assert.deepEqual(await textsIn(path), []);
    await spool.append(bytesOf("a"));
    assert.deepEqual(await textsIn(path), ["a"], "what was there before does not come back");
    await spool.reserve(1_000_000);
    assert.ok((await Deno.stat(path)).size > 1_000_000);
    await spool.append(new Uint8Array(2_000_000));
    assert.equal(readRecords(await files.readBytes(path)).records[1]!.content.length, 2_000_000);
    await spool.close();
  }));

Deno.test("a record that is cut at any byte is left out, and none before it is", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "one.spool");
    const spool = await SpoolFile.create(path);
    await spool.append(bytesOf("the first"));
    const before = await files.readBytes(path);
    const start = await spool.append(bytesOf("the last one"));
    const after = await files.readBytes(path);
    const end = after.findLastIndex((byte) => byte !== 0) + 1;
    for (let cut = start; cut < end; cut++) {
      const torn = new Uint8Array([...after.subarray(0, cut), ...before.subarray(cut)]);
      const { records, isDamaged } = readRecords(torn);
      assert.deepEqual(records.map(({ content }) => textOf(content)), ["the first"], `${cut}`);
      assert.equal(isDamaged, cut > start, `${cut}`);
    }
    assert.equal(readRecords(after).records.length, 2);
    await spool.close();
  }));

Deno.test("a record that is damaged anywhere is skipped, and those after it are read", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "one.spool");
    const spool = await SpoolFile.create(path);
    await spool.append(bytesOf("the first"));
    const start = await spool.append(bytesOf("the second"));
    const end = await spool.append(bytesOf("the third"));
    const whole = await files.readBytes(path);
    for (let at = start; at < end; at++) {
      for (const value of [0, 2, 255].filter((value) => value !== whole[at])) {
        if (at === start && value === 2) continue; // it is done
        const damaged = new Uint8Array(whole);
        damaged[at] = value;
        const { records, isDamaged } = readRecords(damaged);
        // A state of 0 is the end.
        const rest = at === start && value === 0 ? [] : ["the third"];
        assert.deepEqual(
          records.map(({ content }) => textOf(content)),
          ["the first", ...rest],
          `${at} ${value}`,
        );
        assert.equal(isDamaged, rest.length > 0, `${at} ${value}`);
      }
    }
    const { records, isDamaged } = readRecords(whole.subarray(0, end + 5));
    assert.deepEqual([records.length, isDamaged], [2, true], "cut off");
    await spool.close();
  }));

Deno.test("readRecords() refuses a file that is not a spool, but none that was not finished", () => {
  assert.throws(() => readRecords(bytesOf("SQLite format 3\0 and more")), /not a spool of this version/);
  assert.throws(() => readRecords(bytesOf("purser spool 2\n\n")), /not a spool of this version/);
  for (const bytes of [new Uint8Array(0), new Uint8Array(4_096)]) {
    assert.deepEqual(readRecords(bytes), { records: [], isDamaged: false });
  }
});

Deno.test("whatever is written and marked, a spool has what is not done", async () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("append" as const),
      texts: fc.array(fc.string(), { minLength: 1, maxLength: 5 }),
    }),
    fc.record({ kind: fc.constant("done" as const), which: fc.nat() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), (steps) =>
      inDirectory(async (folder) => {
        const path = join(folder, "one.spool");
        const spool = await SpoolFile.create(path);
        let waiting: { position: number; text: string }[] = [];
        for (const step of steps) {
          if (step.kind === "append") {
            const positions = await Promise.all(step.texts.map((text) => spool.append(bytesOf(text))));
            waiting.push(...step.texts.map((text, index) => ({ position: positions[index]!, text })));
          } else if (waiting.length > 0) {
            const [one] = waiting.splice(step.which % waiting.length, 1);
            await spool.markDone(one!.position);
            if (waiting.length === 0) await spool.clear();
          }
          assert.deepEqual(await textsIn(path), waiting.map(({ text }) => textOf(bytesOf(text))));
        }
        waiting = [];
        await spool.close();
      })),
    { numRuns: 30 },
  );
});
