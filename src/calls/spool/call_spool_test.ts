import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory } from "../../../tests/harness/in_directory.ts";
import { modelCall } from "../../../tests/harness/model_calls.ts";
import type { Grant } from "../../budgets/reservations/mod.ts";
import { silentLog } from "../../kernel/log.ts";
import { DEMO_RATES } from "../../pricing/rates.ts";
import { createSecrets } from "../../redaction/values/mod.ts";
import { createCallSpool, folderOf } from "./call_spool.ts";
import { decodeSpooled } from "./decode_spooled.ts";
import { encodeSpooled, type SpooledCall } from "./spooled_call.ts";

const LARGE = 4_611_686_018_427_387_905n;

const CALL = modelCall({
  callId: "call_1",
  costNanoUsd: 1_234_567_891n,
  rates: DEMO_RATES,
  tags: { customer: "a-secret-value-1" },
});
const GRANT: Grant = {
  reservationId: "inst_1/req_1",
  scopes: {
    agentId: "agent",
    sessionId: null,
    keyId: null,
    runId: "run_1",
    budget: { limitNanoUsd: LARGE, mode: "strict" },
  },
  amounts: { estimateNanoUsd: 0n, worstNanoUsd: -LARGE },
  isStrict: true,
};
const SPOOLED: SpooledCall = { ledger: "1", call: CALL, grant: GRANT };

const open = (folder: string, ledger: string | null = "1") =>
  createCallSpool({
    folder,
    log: silentLog,
    scrub: createSecrets(["a-secret-value-1", "1234567891"]).scrubStored,
    readLedger: () => Promise.resolve(ledger),
  });

Deno.test("a spooled call is read as it was written, to the nano-USD", () => {
  assert.deepEqual(decodeSpooled(encodeSpooled(SPOOLED)), SPOOLED);
  for (const wrong of ["{}", "[]", '{"ledger":"1","call":{"callId":"x"}}', "{", ""]) {
    assert.throws(() => decodeSpooled(wrong), `${wrong}`);
  }
});

Deno.test("a spool is made with the first call, without secrets, and removed with the last", () =>
  inDirectory(async (directory) => {
    const folder = join(directory, "books.db-spool");
    const spool = open(folder);
    await assert.rejects(Deno.stat(folder));
    const kept = await spool.write({ call: CALL, grant: GRANT });
    assert.deepEqual(spool.kept(), [kept]);
    const [name] = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
      name.endsWith(".spool")
    );
    const bytes = await Deno.readFile(join(folder, name!));
    assert.ok(!new TextDecoder().decode(bytes).includes("a-secret-value-1"));
    await kept.done();
    assert.deepEqual(spool.kept(), []);
    await spool.close();
    await assert.rejects(Deno.stat(folder));
  }));

Deno.test("what a process has left is read by others once it has ended, and not before", () =>
  inDirectory(async (directory) => {
    const folder = join(directory, "spool");
    const [one, other] = [open(folder), open(folder, null)];
    await one.write({ call: CALL, grant: undefined });
    assert.deepEqual(await other.readLeft(), []);
    assert.deepEqual(await one.readLeft(), [], "its own is no other's");
    await one.close();
    const [left, ...more] = await other.readLeft();
    assert.deepEqual(more, []);
    assert.equal(left!.calls.length, 1);
    const { ledger, call } = left!.calls[0]!;
    assert.deepEqual([ledger, call.costNanoUsd], ["1", 1_234_567_891n], "an amount is no secret");
    await left!.remove();
    await Deno.writeTextFile(join(folder, "spool-instance-spool_killed"), ""); // killed before it made its file
    assert.deepEqual(await other.readLeft(), []);
    await other.close();
    await assert.rejects(Deno.stat(folder), "nothing is left");
  }));

Deno.test("a damaged spool is set aside once what it still has is booked, and one with an unknown call stays", () =>
  inDirectory(async (directory) => {
    const folder = join(directory, "spool");
    const leave = async (change: (bytes: Uint8Array<ArrayBuffer>) => void) => {
      const one = open(folder);
      for (const callId of ["call_1", "call_2"]) {
        await one.write({ call: { ...CALL, callId }, grant: undefined });
      }
      await one.close();
      const name = [...Deno.readDirSync(folder)].map(({ name }) => name).find((name) =>
        name.endsWith(".spool")
      )!;
      const bytes = await Deno.readFile(join(folder, name));
      change(bytes);
      await Deno.writeFile(join(folder, name), bytes);
      return name;
    };
    const reader = open(folder);
    const damaged = await leave((bytes) => bytes[100] = 0xff); // in the first call
    const [left] = await reader.readLeft();
    assert.deepEqual(left!.calls.map(({ call }) => call.callId), ["call_2"]);
    await left!.remove();
    assert.deepEqual(
      [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.includes(".spool")),
      [
        `${damaged}.damaged`,
      ],
    );
    assert.deepEqual(await reader.readLeft(), []);

    const other = open(folder);
    await other.write({ call: { ...CALL, tools: "none" } as never, grant: undefined });
    await other.write({ call: { ...CALL, callId: "call_3" }, grant: undefined });
    await other.close();
    for (let sweep = 0; sweep < 2; sweep++) {
      const [left, ...more] = await reader.readLeft();
      assert.deepEqual([left!.calls.map(({ call }) => call.callId), more], [["call_3"], []]);
      await left!.remove();
    }
    await reader.close();
  }));

Deno.test("prepare() makes room once, and write() rejects where none can be made", () =>
  inDirectory(async (directory) => {
    const folder = join(directory, "spool");
    const spool = open(folder);
    for (let calls = 0; calls < 3; calls++) spool.prepare(200);
    await spool.write({ call: CALL, grant: undefined });
    const [file] = [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".spool"));
    assert.ok((await Deno.stat(join(folder, file!.name))).size >= 200 * 2_048);
    await spool.close();
    await Deno.writeTextFile(join(directory, "no folder"), "");
    const none = open(join(directory, "no folder"));
    none.prepare();
    await assert.rejects(none.write({ call: CALL, grant: undefined }));
    await none.close();
  }));

Deno.test("folderOf() is the same for each name of a database, and another for each database", () =>
  inDirectory(async (directory) => {
    await Deno.writeTextFile(join(directory, "books.db"), "");
    await Deno.symlink(join(directory, "books.db"), join(directory, "link.db"));
    const real = await Deno.realPath(join(directory, "books.db"));
    const file = (name: string) => ({ kind: "file" as const, path: join(directory, name) });
    const remote = (url: string) => ({ kind: "remote" as const, url });
    assert.equal(await folderOf(file("books.db"), undefined), `${real}-spool`);
    assert.equal(await folderOf(file("link.db"), undefined), `${real}-spool`);
    assert.equal(
      await folderOf(file("link.db"), "/var/spool"),
      await folderOf(file("books.db"), "/var/spool"),
    );
    assert.equal(await folderOf(remote("http://localhost:8080"), undefined), undefined);
    assert.equal(await folderOf({ kind: "memory" }, "/var/spool"), undefined);
    const urls = ["libsql://db.example.com", "https://db.example.com/", "https://db.example.com"];
    const folders = await Promise.all(urls.map((url) => folderOf(remote(url), "/var/spool")));
    assert.equal(new Set(folders).size, 1);
    assert.match(folders[0]!, /^\/var\/spool\/db\.example\.com-[0-9a-f]{12}$/);
    assert.notEqual(folders[0], await folderOf(remote("https://tenant.example.com"), "/var/spool"));
    assert.notEqual(folders[0], await folderOf(remote("https://db.example.com/other"), "/var/spool"));
  }));
