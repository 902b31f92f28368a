import assert from "node:assert/strict";
import { inDirectory } from "../../../../tests/harness/in_directory.ts";
import type { Sighting } from "../../../calls/mod.ts";
import type { Config } from "../../../config/mod.ts";
import { type LogFields, silentLog } from "../../../kernel/log.ts";
import { usageOf } from "../../../pricing/mod.ts";
import { openCore } from "../../../service/mod.ts";
import { startBookThread } from "./book_thread.ts";

const ORIGIN = { machine: "laptop", importer: "claude-code" };

const sighting = (ref: string, more: Partial<Sighting> = {}): Sighting => ({
  ref,
  responseId: `msg_0123456789${ref}`,
  model: "claude-sonnet-5",
  at: Date.UTC(2026, 10, 21),
  usage: usageOf({ inputTokens: 10, outputTokens: 5 }),
  quality: "exact",
  ...more,
});

const place = (folder: string) => ({
  config: { dbUrl: `${folder}/purser.db`, logLevel: "warn" } as unknown as Config,
  env: {},
});

Deno.test("a thread books one set after the other, says what it warns of, and leaves the database closed", () =>
  inDirectory(async (folder) => {
    const { config, env } = place(folder);
    const core = await openCore({ config });
    const warnings: [string, LogFields | undefined][] = [];
    const log = {
      ...silentLog,
      warn: (message: string, fields?: LogFields) => void warnings.push([message, fields]),
    };
    {
      await using thread = startBookThread({ config, env, log }, ORIGIN);
      const first = await thread.book([
        sighting("a"),
        sighting("b", { model: "not-known" }),
        sighting("x", { at: -1 }),
      ]);
      assert.deepEqual([first.booked, first.unpriced, first.refused.length], [2, 1, 1]);
      assert.ok(first.costNanoUsd > 0n);
      const second = await thread.book([sighting("a"), sighting("c")]);
      assert.deepEqual([second.booked, second.known], [1, 1]);
    }
    assert.match(warnings.map(([message]) => message).join(), /No price is known/);
    const { rows } = await core.store.read({ sql: "SELECT count(*) FROM calls WHERE source = 'log'" });
    assert.deepEqual(rows, [[3n]]);
    await core.close();
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["purser.db"]);
  }));

Deno.test("an error of a thread has its code, its message and its details", () =>
  inDirectory(async (folder) => {
    await Deno.writeTextFile(
      `${folder}/purser.db`,
      "no database, but longer than the head of one: ".repeat(5),
    );
    await using thread = startBookThread({ ...place(folder), log: silentLog }, ORIGIN);
    const refused = { name: "PurserError", code: "internal", message: /not a database/ };
    await assert.rejects(thread.book([sighting("a")]), refused);
    await assert.rejects(thread.book([sighting("a")]), refused);
  }));
