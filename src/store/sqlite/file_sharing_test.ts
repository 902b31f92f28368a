import assert from "node:assert/strict";
import fs from "node:fs";
import { said } from "../../../tests/harness/node.ts";
import { busyPauseMs, retryWhileBusy } from "./sqlite_errors.ts";
import { findFileSystem, loadFileSystemOf, whyExclusive } from "./database_file.ts";
import { eagerClock } from "../../../tests/harness/eager_clock.ts";

const MOUNTS = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:38 / /mnt/team\\040files rw,nosuid shared:9 master:1 - nfs4 host:/export rw,vers=4.2
41 22 259:300 / /data rw - xfs /dev/nvme0n1p300 rw
`;

const device = (major: number, minor: number) =>
  (minor & 0xff) + major * 0x100 + Math.floor(minor / 0x100) * 0x100000;

Deno.test("findFileSystem() finds the file system of a device among the mounts", () => {
  assert.equal(findFileSystem(MOUNTS, device(8, 1)), "ext4");
  assert.equal(findFileSystem(MOUNTS, device(0, 38)), "nfs4");
  assert.equal(findFileSystem(MOUNTS, device(259, 300)), "xfs");
  assert.equal(findFileSystem(MOUNTS, device(8, 2)), undefined);
  assert.equal(findFileSystem("", 0), undefined);
});

Deno.test({
  name: "loadFileSystemOf() knows the file system of /proc",
  ignore: Deno.build.os !== "linux",
  async fn() {
    // Read by other programs: Deno lets no test read there that has not been granted everything.
    const fileSystemOf = await loadFileSystemOf((path) => said("cat", [path]));
    const device = Number(await said("stat", ["-c", "%d", "/proc"]));
    assert.equal(fileSystemOf({ path: "/proc", device }), "proc");
  },
});

Deno.test("loadFileSystemOf() queries the system where the mounts can't be read", async () => {
  const refused = () => Promise.reject(new Deno.errors.NotCapable("Requires all access"));
  const asked: string[] = [];
  using _ = fakeStatfs((path) => {
    asked.push(path);
    return { type: path.startsWith("/mnt") ? 0xff534d42 | 0 : 0xef53 };
  });
  const fileSystemOf = await loadFileSystemOf(refused);
  assert.equal(fileSystemOf({ path: "/data/a.db", device: device(8, 1) }), undefined);
  assert.equal(fileSystemOf({ path: "/home/a.db", device: device(0, 27) }), undefined);
  assert.equal(fileSystemOf({ path: "/mnt/a.db", device: device(0, 38) }), "cifs");
  assert.deepEqual(asked, ["/home/a.db", "/mnt/a.db"], "a file system with a block device is local");
  assert.ok(whyExclusive({ version: "3.53.2", fileSystem: "cifs" }));
});

Deno.test("loadFileSystemOf() returns undefined where the system lists no mounts", async () => {
  const missing = () => Promise.reject(Object.assign(new Error("no such file"), { code: "ENOENT" }));
  const fileSystemOf = await loadFileSystemOf(missing);
  assert.equal(fileSystemOf({ path: "/Users/a.db", device: 16_777_220 }), undefined);
});

/** Replaces the system's answers on a file system until the end of the test. */
function fakeStatfs(statfs: (path: string) => { type: number }): Disposable {
  const original = fs.statfsSync;
  fs.statfsSync = statfs as typeof fs.statfsSync;
  return { [Symbol.dispose]: () => void (fs.statfsSync = original) };
}

Deno.test("whyExclusive() returns the reason why a file can't be shared", () => {
  const why = (version: string, fileSystem?: string) => whyExclusive({ version, fileSystem });
  for (const version of ["3.51.3", "3.51.10", "3.52.0", "4.0.0"]) {
    assert.equal(why(version, "ext4"), undefined);
  }
  for (const version of ["3.51.2", "3.50.4", "3.9.0", "2.99.99"]) {
    assert.match(why(version)!, new RegExp(`^with SQLite ${version.replaceAll(".", "\\.")}, `));
  }
  for (const fileSystem of ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"]) {
    assert.match(
      why("3.53.2", fileSystem)!,
      new RegExp(`^it is on a network file system \\(${fileSystem}\\)`),
    );
  }
  for (const fileSystem of ["ext4", "xfs", "btrfs", "overlay", "tmpfs", "apfs", "fuse", "fuseblk"]) {
    assert.equal(why("3.53.2", fileSystem), undefined);
  }
});

Deno.test("busyPauseMs() grows from 1 ms to at most 20 ms, and is random below that", () => {
  const longest = [0, 1, 2, 3, 4, 5, 50, 5_000].map((retry) => busyPauseMs(retry, () => 0.999999));
  assert.deepEqual(longest.map(Math.round), [1, 2, 4, 8, 16, 20, 20, 20]);
  assert.equal(busyPauseMs(50, () => 0), 1);
  assert.equal(busyPauseMs(50, () => 0.5), 10);
});

Deno.test("retryWhileBusy() returns the first result, and throws any other error at once", async () => {
  const options = { clock: eagerClock(), random: () => 0.5, timeoutMs: 1_000 };
  const isBusy = (error: unknown) => (error as Error).message === "busy";
  let attempts = 0;
  const attempt = (last: () => number) => () => {
    if (++attempts % 5 !== 0) throw new Error("busy");
    return last();
  };
  assert.equal(await retryWhileBusy(attempt(() => 7), isBusy, options), 7);
  await assert.rejects(
    retryWhileBusy(attempt(() => assert.fail("broken")), isBusy, options),
    /broken/,
  );
  assert.equal(attempts, 10);
});

Deno.test("retryWhileBusy() throws the last error after the deadline", async () => {
  const clock = eagerClock();
  const begun = clock.monotonic();
  const busy = new Error("busy");
  await assert.rejects(
    retryWhileBusy(
      () => {
        throw busy;
      },
      () => true,
      { clock, random: () => 0.9, timeoutMs: 10_000 },
    ),
    (error) => error === busy,
  );
  const waitedMs = clock.monotonic() - begun;
  assert.ok(waitedMs >= 10_000 && waitedMs <= 10_020, `${waitedMs}`);
});
