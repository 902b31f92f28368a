import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory } from "../../../tests/harness/in_directory.ts";
import { systemClock } from "../clock.ts";
import { readTextFile } from "./read_text_file.ts";

/** A clock whose waits are over at once. */
const hasty = { ...systemClock, sleep: () => Promise.resolve() };

const makePipe = (path: string) => new Deno.Command("mkfifo", { args: [path] }).output();

Deno.test("readTextFile() reads a file, a link to it, and a pipe that is written to", () =>
  inDirectory(async (folder) => {
    const [file, link, pipe] = ["file", "link", "pipe"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const text = `\ufeff{"é": "${"😀".repeat(50_000)}"}`;
    await Deno.writeTextFile(file, text);
    await Deno.symlink(file, link);
    await makePipe(pipe);
    const reading = readTextFile(pipe);
    const writing = new Deno.Command("cp", { args: [file, "/dev/stdout"], stdout: "piped" }).spawn();
    await writing.stdout.pipeTo((await Deno.open(pipe, { write: true })).writable);
    assert.equal((await writing.status).code, 0);
    assert.deepEqual([await readTextFile(file), await readTextFile(link), await reading], [text, text, text]);
  }));

Deno.test("readTextFile() refuses what is no file of its size, without reading it to its end", () =>
  inDirectory(async (folder) => {
    const [large, pipe] = [join(folder, "large"), join(folder, "pipe")];
    using file = await Deno.open(large, { write: true, create: true });
    await file.truncate(5 * 1024 ** 3); // which takes no room on the disk
    await makePipe(pipe);
    const tooLarge = { code: "too_large", message: "it is larger than 16 MiB; name another file" };
    await assert.rejects(readTextFile(large), tooLarge);
    await assert.rejects(readTextFile("/dev/zero"), tooLarge);
    await assert.rejects(readTextFile(folder), { code: "EISDIR", message: "is a directory" });
    await assert.rejects(readTextFile(join(folder, "none")), { code: "ENOENT" });
    await assert.rejects(readTextFile(pipe, { clock: hasty }), {
      message: "it is a pipe or a device without an end within 5 s; name another file",
    });
    await Deno.writeTextFile(pipe, ""); // so that its reader is not left waiting
    assert.equal(await readTextFile("/dev/null"), "");
  }));
