import assert from "node:assert/strict";
import { inDirectory } from "../../../tests/harness/in_directory.ts";
import { replaceFile } from "./replace_file.ts";

const namesIn = async (folder: string) =>
  (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();

Deno.test("replaceFile() creates a file in a new folder, for its user only, and keeps the previous text as a backup", () =>
  inDirectory(async (directory) => {
    const folder = `${directory}/new`;
    const path = `${folder}/a.json`;
    for (const text of ["first", "second", "third"]) await replaceFile(path, text, { backup: `${path}.bak` });
    assert.deepEqual(await namesIn(folder), ["a.json", "a.json.bak"]);
    assert.deepEqual([await Deno.readTextFile(path), await Deno.readTextFile(`${path}.bak`)], [
      "third",
      "second",
    ]);
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
  }));

Deno.test("replaceFile() leaves the old file and no draft where it can't be renamed", () =>
  inDirectory(async (folder) => {
    // No file can be renamed to a folder that has files.
    const path = `${folder}/a.json`;
    await Deno.mkdir(`${path}/inside`, { recursive: true });
    await assert.rejects(replaceFile(path, "text"), {
      code: "unavailable",
      message: /^Cannot write .*a\.json: /,
    });
    assert.deepEqual(await namesIn(folder), ["a.json"]);
    assert.deepEqual(await namesIn(path), ["inside"]);
  }));

Deno.test("replaceFile() changes nothing where the backup can't be written", () =>
  inDirectory(async (folder) => {
    const path = `${folder}/a.json`;
    await Deno.writeTextFile(path, "old");
    await Deno.mkdir(`${folder}/backup/inside`, { recursive: true });
    await assert.rejects(replaceFile(path, "new", { backup: `${folder}/backup` }), { code: "unavailable" });
    assert.equal(await Deno.readTextFile(path), "old");
    assert.deepEqual(await namesIn(folder), ["a.json", "backup"]);
  }));
