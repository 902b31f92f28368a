import assert from "node:assert/strict";
import { inDirectory } from "../../../tests/harness/in_directory.ts";
import { createInstanceLocks, prepareDatabaseFile } from "./database_file.ts";
import { join } from "node:path";
import { startStoreProcess } from "../../../tests/harness/store_process.ts";
import { SqliteStore } from "./sqlite_store.ts";

Deno.test("prepareDatabaseFile() refuses a directory by name, and accepts an existing file", () =>
  inDirectory(async (directory) => {
    await assert.rejects(prepareDatabaseFile(directory), {
      code: "unavailable",
      message: `Cannot open database ${directory}: is a directory; name a file in it`,
    });
    await assert.rejects(prepareDatabaseFile("/dev/zero"), {
      message: "Cannot open database /dev/zero: is a pipe or a device; name a file",
    });
    const path = `${directory}/new/purser.db`;
    await prepareDatabaseFile(path);
    await prepareDatabaseFile(path);
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
  }));

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

Deno.test("InstanceLocks.isGone() is false while a process lives, and true once it was killed", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    const locks = createInstanceLocks(path);
    const other = startStoreProcess({ do: "hold_instance", path, instanceId: "inst_other" });
    assert.equal(await other.next(), "held");
    for (let i = 0; i < 100; i++) assert.equal(await locks.isGone("inst_other"), false);
    assert.deepEqual(namesIn(folder), ["purser.db-instance-inst_other"]);
    assert.equal((await Deno.stat(join(folder, "purser.db-instance-inst_other"))).size, 0);
    await other.kill();
    assert.equal(await locks.isGone("inst_other"), true);
    assert.deepEqual(namesIn(folder), ["purser.db-instance-inst_other"]);
    await locks.removeStale((id) => id === "inst_other");
    assert.equal(await locks.isGone("inst_other"), true);
    await locks.removeStale(() => false);
    assert.deepEqual(namesIn(folder), []);
    assert.equal(await locks.isGone("inst_other"), false); // no longer known
    await locks.close();
  }));

Deno.test("InstanceLocks.close() removes the side file, as a process that ends normally does", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    const other = startStoreProcess({ do: "hold_instance", path, instanceId: "inst_other" });
    assert.equal(await other.next(), "held");
    await other.end();
    assert.deepEqual(namesIn(folder), []);
    const store = await SqliteStore.open({ path, durability: "normal" });
    await store.instances.hold("inst_1");
    assert.deepEqual(namesIn(folder), ["purser.db", "purser.db-instance-inst_1"]);
    await store.close();
    assert.deepEqual(namesIn(folder), ["purser.db"]);
  }));

Deno.test("an instance of this process is never gone, however often the process opens the database", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    await Deno.symlink(path, join(folder, "link.db"));
    await Deno.writeTextFile(path, "");
    const [first, second, third] = [path, path, join(folder, "link.db")].map(createInstanceLocks);
    await Promise.all([first!.hold("inst_1"), first!.hold("inst_1"), second!.hold("inst_1")]);
    await third!.hold("inst_3");
    const all = [first!, second!, third!];
    for (const locks of all) {
      assert.deepEqual([await locks.isGone("inst_1"), await locks.isGone("inst_3")], [false, false]);
      await locks.removeStale(() => false);
    }
    await first!.close();
    assert.equal(await second!.isGone("inst_1"), false);
    // Nor does another process take it for gone.
    const held = namesIn(folder).filter((name) => name.includes("-instance-"));
    assert.deepEqual(held, ["purser.db-instance-inst_1", "purser.db-instance-inst_3"]);
    await second!.close();
    await third!.close();
    assert.deepEqual(namesIn(folder), ["link.db", "purser.db"]);
  }));

Deno.test("an instance does not count as gone while it takes its lock and others check and remove", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    const ids = Array.from({ length: 6 }, (_, i) => `inst_${i}`);
    const locks = createInstanceLocks(path);
    const processes = ids.map((instanceId) => startStoreProcess({ do: "hold_instance", path, instanceId }));
    const held = new Set<string>();
    const waiting = processes.map(async (each, i) => {
      await each.next();
      held.add(ids[i]!);
    });
    let isDone = false;
    const all = Promise.all(waiting).then(() => isDone = true);
    while (!isDone) {
      await locks.removeStale(() => false);
      for (const id of held) assert.equal(await locks.isGone(id), false);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await all;
    await locks.removeStale(() => false);
    assert.deepEqual(namesIn(folder), ids.map((id) => `purser.db-instance-${id}`));
    for (const each of processes) await each.kill();
    for (const id of ids) assert.equal(await locks.isGone(id), true);
    await locks.removeStale(() => false);
    assert.deepEqual(namesIn(folder), []);
  }));

Deno.test("an instance id is never used as a path, and an unwritable folder gets no lock", () =>
  inDirectory(async (folder) => {
    const locks = createInstanceLocks(join(folder, "purser.db"));
    for (const id of ["", "../x", "a/b", "a.b", "a b", "x".repeat(101)]) {
      await assert.rejects(locks.hold(id), { code: "internal" });
      assert.equal(await locks.isGone(id), false);
    }
    const nowhere = createInstanceLocks(join(folder, "none", "purser.db"));
    await nowhere.hold("inst_1");
    assert.equal(await nowhere.isGone("inst_1"), false);
    await nowhere.removeStale(() => false);
    await nowhere.close();
    const memory = createInstanceLocks(undefined);
    await memory.hold("inst_1");
    assert.equal(await memory.isGone("inst_1"), false);
    assert.deepEqual(namesIn(folder), []);
  }));
