import assert from "node:assert/strict";
import { writeFile } from "./write_file.ts";

async function inDirectory(body: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  try {
    await body(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const filesOf = (directory: string) => [...Deno.readDirSync(directory)].map(({ name }) => name).sort();

async function* chunks(...texts: (string | Error)[]): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (const text of texts) {
    if (text instanceof Error) throw text;
    await Promise.resolve();
    yield new TextEncoder().encode(text);
  }
}

Deno.test("writeFile() replaces a file, readable by its owner only", () =>
  inDirectory(async (directory) => {
    const path = `${directory}/out.json`;
    await Deno.writeTextFile(path, "before, and longer than what comes");
    await writeFile(path, chunks("a", "", "b"));
    assert.equal(await Deno.readTextFile(path), "ab");
    if (Deno.build.os !== "windows") assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    assert.deepEqual(filesOf(directory), ["out.json"]);
  }));

Deno.test("writeFile() keeps the target, and leaves no temporary file, when the source fails", () =>
  inDirectory(async (directory) => {
    const path = `${directory}/out.json.gz`;
    await assert.rejects(writeFile(path, chunks("a", new Error("broken"))), /broken/);
    assert.deepEqual(filesOf(directory), []);
    await Deno.writeTextFile(path, "before");
    await assert.rejects(writeFile(path, chunks("a", new Error("broken"))), /broken/);
    assert.equal(await Deno.readTextFile(path), "before");
    assert.deepEqual(filesOf(directory), ["out.json.gz"]);
  }));

Deno.test("writeFile() reports a directory as the target, and a missing one", () =>
  inDirectory(async (directory) => {
    await assert.rejects(writeFile(directory, chunks("a")), {
      message: `Cannot write ${directory}: is a directory`,
    });
    await assert.rejects(writeFile(`${directory}/no/file`, chunks("a")), /no such file or directory/);
    assert.deepEqual(filesOf(directory), []);
  }));

Deno.test({
  name: "writeFile() writes to a pipe or a device, and does not replace it by a file",
  ignore: Deno.build.os === "windows",
  fn: () =>
    inDirectory(async (directory) => {
      const path = `${directory}/pipe`;
      await new Deno.Command("mkfifo", { args: [path] }).output();
      const [text] = await Promise.all([Deno.readTextFile(path), writeFile(path, chunks("through", " it"))]);
      assert.equal(text, "through it");
      assert.equal((await Deno.stat(path)).isFile, false);
      await writeFile("/dev/null", chunks("gone"));
      assert.equal((await Deno.stat("/dev/null")).isFile, false);
    }),
});
