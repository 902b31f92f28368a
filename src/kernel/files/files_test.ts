import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory } from "../../../tests/harness/in_directory.ts";
import { systemCodeOf } from "../system_errors.ts";
import { denoFiles, files, nodeFiles } from "./files.ts";

const mode = async (path: string) => (await Deno.stat(path)).mode! & 0o777;

async function codeOf(task: Promise<unknown>): Promise<string | undefined> {
  return await task.then(() => assert.fail("it was done"), systemCodeOf);
}

for (
  const [name, { readText, writeNew, makeFolder, rename, remove, realPath, isFolder, stampOf }] of [
    ["Deno's", denoFiles(Deno)],
    ["Node's", nodeFiles],
  ] as const
) {
  Deno.test(`${name} calls create, write, rename, read and remove, for their user only`, () =>
    inDirectory(async (root) => {
      const folder = join(root, "a", "b");
      await makeFolder(folder);
      await makeFolder(folder);
      const [draft, path] = [join(folder, "draft"), join(folder, "file")];
      await writeNew(draft, "\uFEFFtäxt\r\n");
      await rename(draft, path);
      assert.equal(await readText(path), "\uFEFFtäxt\r\n");
      assert.deepEqual([await mode(folder), await mode(path)], [0o700, 0o600]);
      assert.deepEqual([await isFolder(folder), await isFolder(path)], [true, false]);
      await Deno.symlink(path, join(root, "link"));
      assert.equal(await realPath(join(root, "link")), await Deno.realPath(path));
      await remove(path);
      assert.deepEqual([...Deno.readDirSync(folder)], []);
    }));

  Deno.test(`${name} stamp of a file changes when it is replaced, also by one of its size and time`, () =>
    inDirectory(async (root) => {
      const [path, draft] = [join(root, "file"), join(root, "draft")];
      assert.equal(await stampOf(path), undefined);
      await writeNew(path, "one");
      await writeNew(draft, "two");
      for (const each of [path, draft]) await Deno.utime(each, 1_800_000_000, 1_800_000_000);
      const before = await stampOf(path);
      assert.deepEqual([before!.modifiedAt, before!.size], [1_800_000_000_000, 3]);
      assert.deepEqual(await stampOf(path), before);
      await rename(draft, path);
      assert.notDeepEqual(await stampOf(path), before);
    }));

  Deno.test(`${name} calls throw errors with the system's code`, () =>
    inDirectory(async (root) => {
      const [file, none] = [join(root, "file"), join(root, "none")];
      await writeNew(file, "first");
      assert.equal(await codeOf(writeNew(file, "second")), "EEXIST");
      assert.equal(await readText(file), "first");
      assert.equal(await codeOf(makeFolder(file)), "EEXIST");
      assert.equal(await codeOf(makeFolder(join(file, "in it"))), "ENOTDIR");
      for (const call of [readText, remove, realPath, isFolder]) {
        assert.equal(await codeOf(call(none) as Promise<unknown>), "ENOENT");
      }
      assert.equal(await codeOf(rename(none, file)), "ENOENT");
      assert.equal(await codeOf(writeNew(join(none, "x"), "")), "ENOENT");
      assert.equal(await codeOf(readText(root)), "EISDIR");
    }));
}

Deno.test("Deno's own calls are used in Deno", () => {
  assert.equal(files.readText.toString(), denoFiles(Deno).readText.toString());
});
