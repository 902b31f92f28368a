import assert from "node:assert/strict";
import { inDirectory } from "../../../tests/harness/in_directory.ts";
import { prepareDatabaseFile } from "./database_file.ts";

Deno.test("prepareDatabaseFile() refuses a directory by name, and accepts an existing file", () =>
  inDirectory(async (directory) => {
    await assert.rejects(prepareDatabaseFile(directory), {
      code: "unavailable",
      message: `Cannot open database ${directory}: is a directory; name a file in it`,
    });
    const path = `${directory}/new/purser.db`;
    await prepareDatabaseFile(path);
    await prepareDatabaseFile(path);
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
  }));
