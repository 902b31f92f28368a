import assert from "node:assert/strict";
import { systemClock } from "../../src/kernel/clock.ts";
import { readEnvironment } from "../../src/config/mod.ts";
import { denoCacheVariables } from "../harness/cache_variables.ts";
import { parseDatabaseUrl } from "../../src/kernel/database_url.ts";
import { databaseLogic } from "../../src/service/parts.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { writeDocument } from "../../src/snapshots/document/mod.ts";
import { openStore, toObjects } from "../../src/store/mod.ts";
import { findCli } from "../harness/installed_cli.ts";
import { type Disk, mountDisk } from "../harness/small_disk.ts";

/** A small disk, the CLI of a process that sees it, and what is in its database. */

const CLI = await findCli();

interface Place extends AsyncDisposable {
  /** A directory on an ordinary disk. */
  folder: string;
  disk: Disk;
}

export async function newPlace(diskBytes: number): Promise<Place> {
  const folder = await Deno.makeTempDir({ prefix: "purser_full_disk_" });
  const dispose = () => Deno.remove(folder, { recursive: true });
  try {
    await Deno.mkdir(`${folder}/disk`);
    const disk = await mountDisk(`${folder}/disk`, diskBytes);
    return {
      folder,
      disk,
      async [Symbol.asyncDispose]() {
        await disk[Symbol.asyncDispose]();
        await dispose();
      },
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function command([name, ...args]: string[], env?: Record<string, string>): Deno.Command {
  return new Deno.Command(name!, {
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...(env && { env, clearEnv: true }),
  });
}

/** Starts the CLI as a process that sees the small disk. */
export function purserCommand(place: Place, db: string, args: string[], more: Record<string, string> = {}) {
  const { PATH = "", HOME = "" } = readEnvironment();
  const env = { PATH, HOME, ...denoCacheVariables(), TMPDIR: place.folder, ...more };
  const folders = { XDG_CONFIG_HOME: place.folder, XDG_DATA_HOME: place.folder };
  const line = [...place.disk.enter, ...CLI, "--db", db, ...args];
  return command(line, { ...env, ...folders });
}

export async function purser(...input: Parameters<typeof purserCommand>) {
  const { code, stdout, stderr } = await purserCommand(...input).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

/** Imports a document of about so many bytes, which must succeed unless it is expected to be refused. */
export async function importDocument(
  place: Place,
  db: string,
  { number, bytes, isTaken = true, env = {}, options = [] }: {
    number: number;
    bytes: number;
    isTaken?: boolean;
    env?: Record<string, string>;
    options?: string[];
  },
) {
  const path = `${place.folder}/${number}.json`;
  await writeDocumentFile(path, number, bytes);
  const done = await purser(place, db, ["state", "import", path, "--yes", ...options], env);
  if (isTaken) assert.deepEqual({ code: done.code, err: done.err }, { code: 0, err: "" });
  return done;
}

/** Writes a document that contains its number; each import of one is recognized by it. */
async function writeDocumentFile(path: string, number: number, bytes: number): Promise<void> {
  const at = "2026-11-20T08:00:00.000Z";
  const text = "x".repeat(10_000);
  const pages = async function* () {
    for (let index = 0; index * text.length < bytes; index++) {
      const content = `${number}.${index} ${text}`;
      yield [JSON.stringify({ content, created_at: at, id: `msg_${index}`, role: "user" })];
    }
  };
  const head = {
    schema_version: 1,
    agent_id: "agent",
    session_id: "ses",
    state: { status: "completed" },
    event_log_count: 1,
    tags: { number: String(number) },
    source_environment: "elsewhere",
    exported_at: at,
    mark: number,
  };
  await Deno.writeFile(path, ReadableStream.from(writeDocument({ head, messages: pages() })));
}

/** The messages to the user, without the log's warnings of failed sweeps. */
function sentencesOf(err: string): string {
  return err.split("\n").filter((line) => !line.startsWith('{"level":"warn"')).join("\n");
}

/** The session's document without the parts that differ between two exports of the same state. */
export async function exportSession(place: Place, db: string): Promise<string> {
  const { code, out, err } = await purser(place, db, ["state", "export", "agent", "--output", "-"]);
  assert.deepEqual({ code, err: sentencesOf(err) }, { code: 0, err: "" });
  const { exported_at: _exportedAt, integrity: _integrity, ...document } = JSON.parse(out);
  return JSON.stringify(document);
}

/** The content of a directory's database, read from a copy of its files. */
export async function lookAt(place: Place, directory: string) {
  const sql = `SELECT extras ->> '$.document.mark' AS mark,
    (SELECT count(*) FROM loose_generations WHERE staged_by IS NOT NULL) AS loose,
    (SELECT count(*) FROM messages m WHERE m.generation <> s.generation
      AND m.generation NOT IN (SELECT generation FROM loose_generations WHERE staged_by IS NULL)) AS strays,
    (SELECT group_concat(integrity_check) FROM pragma_integrity_check) AS integrity FROM sessions s`;
  const [found] = toObjects<Record<string, bigint | string>>(await readCopy(place, directory, sql));
  const { mark, loose, strays, integrity } = found!;
  return { mark: Number(mark), loose: Number(loose), strays: Number(strays), integrity };
}

/** Runs a query over a copy of a directory's database. */
export async function readCopy({ folder }: Place, directory: string, sql: string) {
  const copy = await Deno.makeTempDir({ dir: folder });
  for (const { name } of [...Deno.readDirSync(directory)]) {
    if (/^books\.db(-wal)?$/.test(name)) await Deno.copyFile(`${directory}/${name}`, `${copy}/${name}`);
  }
  const store = await openStore({
    location: parseDatabaseUrl(`${copy}/books.db`),
    durability: "normal",
    remoteTimeoutMs: 1_000,
    clock: systemClock,
    ids: createIds(systemClock),
    logic: databaseLogic,
  });
  try {
    return await store.read({ sql });
  } finally {
    await store.close();
  }
}
