import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { writeDocument } from "../../src/snapshots/document/mod.ts";

const WORKER = fileURLToPath(new URL("snapshot_memory_worker.ts", import.meta.url));
/** The number that the gate has time for. */
const MESSAGES = Number(Deno.env.get("PURSER_SNAPSHOT_MESSAGES") ?? 12_000);
/** Most of it is the process itself, and garbage that a busy machine collects late; five times the messages take 4% more. */
const BOUND_KB = 300_000;
const TIMEOUT_MS = 60_000;
const IS_LINUX = Deno.build.os === "linux";
const name = `a session of ${MESSAGES} messages is imported and exported in less than ${BOUND_KB / 1_000} MB`;

Deno.test({
  name: IS_LINUX ? name : `${name} (skipped: only Linux reports the peak memory of a process)`,
  ignore: !IS_LINUX,
  fn: async (t) => {
    const folder = await Deno.makeTempDir({ prefix: "purser_snapshot_memory_" });
    const db = `${folder}/books.db`;
    const file = `${folder}/in.json`;
    const exported = `${folder}/out.json`;
    try {
      await Deno.writeFile(file, ReadableStream.from(largeDocument()));
      const { size } = await Deno.stat(file);
      assert.ok(size > 1_000 * MESSAGES, `the document has ${size} bytes`);
      await t.step("state import", async () => {
        const { out } = await measure(folder, ["--db", db, "--json", "state", "import", file]);
        assert.equal(JSON.parse(out).messages_restored, MESSAGES);
      });
      await t.step("state export", async () => {
        const args = ["--db", db, "--json", "state", "export", "agent", "--output", exported];
        const { out } = await measure(folder, args);
        assert.deepEqual([JSON.parse(out).messages, JSON.parse(out).bytes], [
          MESSAGES,
          (await Deno.stat(exported)).size,
        ]);
      });
      await t.step("GET /agents/{session_id}/snapshot", async () => {
        const { out } = await measure(folder, ["get", db]);
        assert.ok(Math.abs(Number(out) - (await Deno.stat(exported)).size) < 1_000, "it is as large");
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** Runs the worker and fails if its peak memory exceeds the bound. */
async function measure(folder: string, args: string[]): Promise<{ out: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    // Deno lets a process read its memory in /proc only with all permissions.
    args: ["run", "-A", "--quiet", WORKER, ...args],
    env: { XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder, TMPDIR: folder },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).output();
  const output = new TextDecoder().decode(stderr);
  assert.equal(code, 0, output);
  const peakKb = Number(output.trim().split("\n").at(-1));
  assert.ok(peakKb < BOUND_KB, `it has held ${peakKb} KB at most`);
  return { out: new TextDecoder().decode(stdout) };
}

/** About 1 KB a message; not all of it is Latin-1, which would take a byte a character. */
function largeDocument(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const at = "2026-11-20T08:00:00.000Z";
  const text = "All of this is said again and again — ".repeat(24);
  const pages = async function* () {
    for (let start = 0; start < MESSAGES; start += 500) {
      yield Array.from({ length: 500 }, (_, index) => {
        const number = start + index;
        const role = number % 2 === 0 ? "user" : "assistant";
        return JSON.stringify({ content: `${number} ${text}`, created_at: at, id: `msg_${number}`, role });
      });
    }
  };
  const head = {
    schema_version: 1,
    agent_id: "agent",
    session_id: "ses",
    state: { status: "completed" },
    event_log_count: 1,
    tags: {},
    source_environment: "elsewhere",
    exported_at: at,
  };
  return writeDocument({ head, messages: pages() });
}
