import assert from "node:assert/strict";
import { newPlace, startServer } from "../harness/cli_process.ts";
import { checkBooks } from "../harness/check_books.ts";
import { lookInto } from "./alert_workers.ts";

/** A server whose database file is moved away or replaced while it books. */

interface Report {
  id: string;
  begunAt: number;
  endedAt: number;
  status: number;
  detail?: string;
}

/** Reports calls one after the other, and records the outcome of each. */
function startReporting(url: string, lane: string) {
  const reports: Report[] = [];
  let isOver = false;
  const running = (async () => {
    for (let number = 0; !isOver; number++) {
      const id = `${lane}-${number}`;
      const begunAt = performance.now();
      const response = await fetch(`${url}/costs/events`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify([{
          ...{ call_id: id, at: new Date().toISOString(), agent_id: "a", session_id: lane },
          ...{ provider: "p", model: "m", input_tokens: 1, output_tokens: 1, cost_usd: 0.000_001 },
        }]),
      });
      const { detail } = await response.json();
      reports.push({ id, begunAt, endedAt: performance.now(), status: response.status, detail });
    }
  })();
  return {
    reports,
    async stop() {
      isOver = true;
      await running;
    },
  };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

for (const isReplaced of [false, true]) {
  const what = isReplaced ? "replaced by another one" : "moved away";
  Deno.test(`a server whose file is ${what} acknowledges nothing that is not in it`, async () => {
    await using place = await newPlace();
    const db = place.env.PURSER_DB!;
    const old = `${place.folder}/old.db`;
    const server = await startServer(place);
    try {
      const lanes = ["x", "y", "z"].map((lane) => startReporting(server.url, lane));
      while (lanes.some(({ reports }) => reports.length < 20)) await pause(5);
      if (isReplaced) {
        await using other = await lookInto(`${place.folder}/other.db`);
        await other.write([{
          sql: "INSERT INTO tallies (what, name, outcome, count) VALUES ('alert', 'x', '', 7)",
        }]);
      }
      const taken = performance.now();
      await Deno.rename(db, old);
      if (isReplaced) await Deno.rename(`${place.folder}/other.db`, db);
      const isTaken = performance.now();
      await pause(1_200);
      for (const lane of lanes) await lane.stop();
      const all = lanes.flatMap(({ reports }) => reports);
      const after = all.filter(({ begunAt }) => begunAt > isTaken);
      assert.ok(after.length > 0);
      for (const { status, detail } of after) {
        assert.equal(status, 503, "requests after it are refused");
        assert.match(
          detail!,
          /^Cannot use database .*: the file was deleted or replaced while it was open; restart/,
        );
      }
      assert.ok(all.every(({ status, endedAt }) => status === 201 || (status === 503 && endedAt > taken)));
      for (const path of ["/readyz", "/costs"]) {
        const answer = await fetch(server.url + path);
        assert.equal(answer.status, 503, path);
        await answer.body?.cancel();
      }

      // Its WAL has kept the name; SQLite finds it by the name of the file.
      for (const side of ["-wal"]) await Deno.copyFile(db + side, old + side);
      await using store = await lookInto(old);
      const ledger = await checkBooks(store);
      for (const { id, status } of all) {
        if (status === 201) assert.ok(ledger.has(id), `${id} was acknowledged: it is in the file`);
      }
    } finally {
      server.child.kill("SIGKILL");
      await server.child.status;
      await server.child.stdout.cancel();
    }
    if (isReplaced) {
      // Beside the old WAL a new file would be corrupt: the WAL has to be removed with the file.
      await Promise.all(["-wal", "-shm"].map((side) => Deno.remove(db + side).catch(() => {})));
      await using store = await lookInto(db);
      assert.deepEqual((await store.read({ sql: "SELECT count FROM tallies" })).rows, [[7n]]);
      assert.deepEqual((await store.read({ sql: "PRAGMA integrity_check" })).rows, [["ok"]]);
    }
  });
}
