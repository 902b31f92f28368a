import assert from "node:assert/strict";
import { findFileSystem, loadFileSystemOf, whyExclusive } from "./file_sharing.ts";

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
    const fileSystemOf = await loadFileSystemOf();
    assert.equal(fileSystemOf(Deno.statSync("/proc").dev), "proc");
  },
});

Deno.test("whyExclusive() names what keeps a file from being shared", () => {
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
