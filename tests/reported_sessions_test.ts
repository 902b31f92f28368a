import assert from "node:assert/strict";
import { openTestBooks } from "./harness/test_books.ts";
import { reportCalls } from "../src/calls/mod.ts";
import { toIso } from "../src/kernel/clock.ts";
import type { Session } from "../src/contract/sessions.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { reportOf } from "./harness/reported_calls.ts";

/** Sessions that exist only by the calls that were reported for them. */

const CALLS = 1_400;

/** Returns the list of sessions that these reports must lead to. */
function expectedOf(reports: ReturnType<typeof reportOf>[]) {
  const bySession = Map.groupBy(reports.filter(({ sessionId }) => sessionId), ({ sessionId }) => sessionId!);
  return [...bySession].map(([sessionId, calls]) => {
    const first = calls.reduce((best, call) => call.at < best.at ? call : best);
    return {
      session_id: sessionId,
      agent_id: first.agentId,
      created_at: toIso(first.at),
      updated_at: toIso(Math.max(...calls.map(({ at }) => at))),
      calls: calls.length,
    };
  }).sort((a, b) => a.updated_at + a.session_id < b.updated_at + b.session_id ? 1 : -1);
}

const shown = ({ session_id, agent_id, created_at, updated_at, token_usage }: Session) => ({
  session_id,
  agent_id,
  created_at,
  updated_at,
  calls: token_usage.model_calls,
});

Deno.test("reported sessions are listed by their first and last call, before and after a roll-up", async () => {
  await using purser = await openTestPurser();
  const { core } = purser;
  const reports = Array.from({ length: CALLS }, (_, index) => reportOf(`call_${index}`, core.clock.now()));
  const compare = async (booked: typeof reports) => {
    const { body } = await purser.api("GET", "/sessions?limit=1000");
    assert.deepEqual(body.map(shown), expectedOf(booked));
  };
  await reportCalls(core, "report", reports.slice(0, 100));
  await compare(reports.slice(0, 100));
  await reportCalls(core, "report", reports.slice(100, 1_300));
  await core.rollUps.ended();
  await compare(reports.slice(0, 1_300));
  await reportCalls(core, "report", reports.slice(1_300));
  await compare(reports);
  const { rows } = await core.store.read({
    sql: "SELECT position > 0 FROM rollup_positions WHERE name = 'totals'",
  });
  assert.deepEqual(rows, [[1n]], "some of the calls are rolled up");

  const ids: string[] = [];
  for (let next: string | undefined = "/sessions?limit=5"; next;) {
    const { body, headers } = await purser.api("GET", next);
    ids.push(...body.map((session: Session) => session.session_id));
    next = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
  }
  assert.deepEqual(ids, expectedOf(reports).map(({ session_id }) => session_id));
});

Deno.test("sessions list and sessions show know reported sessions, and export takes the latest with a state", async () => {
  await using books = await openTestBooks();
  await books.purser("agents set helper --model demo:echo");
  await books.purser("run helper hi --session stored");
  const report = {
    ...reportOf("call_r", books.clock.now()),
    agentId: "helper",
    sessionId: "reported",
    step: 1,
  };
  await reportCalls(books.core, "report", [{ ...report, runId: null, at: books.clock.now() + 60_000 }]);
  const { out } = await books.purser("sessions list --agent helper");
  assert.match(out, /^SESSION .*\nreported +helper +idle +0 +1 .*\nstored +helper +completed +2 +1 /);
  const show = await books.purser("sessions show reported");
  assert.equal(show.code, 0, show.err);
  assert.match(show.out, /^Session +reported\nAgent +helper\nStatus +idle\nMessages +0, with 0 events\n/);
  assert.match(show.out, /\nCalls outside a run\n[^]*call_r/);
  const exported = await books.purser("state export helper --output -");
  assert.equal(JSON.parse(exported.out).session_id, "stored");
  const refused = await books.purser("state export helper --session reported --output -");
  assert.deepEqual([refused.code, refused.err], [
    3,
    "error: Cannot export session reported: it is known from its calls alone, and has no state here\n",
  ]);
});
