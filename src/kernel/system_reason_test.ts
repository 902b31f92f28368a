import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory } from "../../tests/harness/in_directory.ts";
import { denoFiles, nodeFiles } from "./files.ts";
import { systemReason } from "./system_reason.ts";

Deno.test("systemReason() tells the same of Deno's errors and of Node's", () =>
  inDirectory(async (folder) => {
    const file = join(folder, "file");
    await Deno.writeTextFile(file, "");
    await Deno.symlink(join(folder, "round"), join(folder, "round"));
    const cases: [path: string, reason: string][] = [
      [join(folder, "none"), "there is no such file"],
      [folder, "it is a directory"],
      [join(file, "below"), "a part of the path is no directory"],
      [join(folder, "round"), "its links lead round in circles"],
      [join(folder, "n".repeat(300)), "the name is too long"],
    ];
    for (const { readText } of [denoFiles(Deno), nodeFiles]) {
      for (const [path, reason] of cases) {
        assert.equal(await readText(path).then(() => "it was read", systemReason), reason);
      }
    }
  }));

Deno.test("systemReason() leaves to an error what the system has no code for", () => {
  assert.equal(systemReason(new Error("it is broken")), "it is broken");
  assert.equal(systemReason("text"), "text");
});
