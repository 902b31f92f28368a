import assert from "node:assert/strict";
import cline from "../../src/ingest/logs/cline.ts";
import geminiCli from "../../src/ingest/logs/gemini_cli.ts";
import openCode from "../../src/ingest/logs/opencode.ts";
import pi from "../../src/ingest/logs/pi.ts";
import qwenCode from "../../src/ingest/logs/qwen_code.ts";
import { assertBooks, type Progress, readLogs, readRecordings } from "./read_logs.ts";

for (const importer of [cline, geminiCli, openCode, pi, qwenCode]) {
  for (const { name, logs, expected } of await readRecordings(importer.name)) {
    const title = `${importer.name} ${name}:`;

    Deno.test(`${title} exactly the calls that were billed are read, and nothing is malformed`, () => {
      const said = readLogs(importer, logs);
      assertBooks(said.calls, expected);
      assert.deepEqual(said.malformed, []);
    });

    Deno.test(`${title} a second import from the beginning books nothing more, one that goes on reads nothing new`, () => {
      const progress: Progress = new Map();
      const first = readLogs(importer, logs, progress);
      assertBooks([...first.calls, ...readLogs(importer, logs).calls], expected);
      assertBooks([...first.calls, ...readLogs(importer, logs, progress).calls], expected);
    });

    Deno.test(`${title} the order of the files changes nothing`, () => {
      const reversed = Object.fromEntries(Object.entries(logs).reverse());
      assertBooks(readLogs(importer, reversed).calls, expected);
    });

    const lines = Object.entries(logs).filter(([file]) => file.endsWith(".jsonl"));
    if (lines.length === 0) continue;
    Deno.test(`${title} logs that are cut anywhere and read on later have the same calls`, () => {
      for (const [file, text] of lines) {
        for (let cut = 0; cut < text.length; cut += 7) {
          const progress: Progress = new Map();
          const before = readLogs(importer, { ...logs, [file]: text.slice(0, cut) }, progress);
          const after = readLogs(importer, logs, progress);
          assertBooks([...before.calls, ...after.calls], expected);
          assert.deepEqual([...before.malformed, ...after.malformed], []);
        }
      }
    });
  }
}
