import assert from "node:assert/strict";
import { loadSqlite } from "../src/store/sqlite/sqlite_driver.ts";
import { newPlace, type Place, startServer } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";

/** The real server over a large file. */

/** Makes a ledger of one call, in a file that is large by another table. */
async function makeLargeFile(place: Place): Promise<string> {
  assert.equal((await purser(place, ["agents", "set", "greeter", "--model", "demo:echo"])).code, 0);
  assert.equal((await purser(place, ["run", "greeter", "Hello", "--tag", "team=search"])).code, 0);
  const connection = (await loadSqlite()).connect(place.env.PURSER_DB!);
  connection.exec("CREATE TABLE filling AS SELECT zeroblob(17 * 1024 * 1024) AS bytes");
  connection.close();
  return place.env.PURSER_DB!;
}

/** Returns the number of a process's connections to a file. */
async function connectionsTo(path: string, pid: number): Promise<number> {
  // Deno reads this folder for programs with all permissions only.
  const { stdout } = await new Deno.Command("ls", { args: ["-l", `/proc/${pid}/fd`] }).output();
  const end = ` -> ${await Deno.realPath(path)}`;
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line.endsWith(end)).length;
}

Deno.test({
  name: "a server sums costs of a large file in a thread with a connection of its own, and closes that",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using place = await newPlace();
    const path = await makeLargeFile(place);
    {
      await using server = await startServer(place);
      const before = await connectionsTo(path, server.child.pid);
      for (const query of ["", "?group_by=tag:team", "?group_by=session"]) {
        const rows = await (await fetch(`${server.url}/costs${query}`)).json();
        assert.equal(rows.length, 1, query);
        assert.equal(rows[0].model_calls, 1);
        assert.equal(await connectionsTo(path, server.child.pid), before + 1);
      }
    }
    const left = [...Deno.readDirSync(place.folder)].map(({ name }) => name);
    assert.deepEqual(left.filter((name) => name.startsWith("books.db")), ["books.db"]);
  },
});
