import assert from "node:assert/strict";
import { rollUp } from "../../src/calls/mod.ts";
import type { TelemetryRecord } from "../../src/ingest/otlp/records.ts";
import { listCosts } from "../../src/ledger/mod.ts";
import type { TestBooking } from "../harness/booking.ts";
import { checkTotals } from "../harness/check_books.ts";
import { bookingTests, unchecked } from "../harness/booking_tests.ts";
import { dialectKinds } from "../harness/databases.ts";
import { receive, RECORDED_CLOCK } from "../harness/otlp_recordings.ts";
import { agent, call, span } from "../harness/telemetry_records.ts";

/** The books after spans whose parents come later: one row for each call, of the agent that is known in the end. */

async function callsBy(ctx: TestBooking, groupBy: "agent" | "session") {
  await rollUp(ctx);
  await checkTotals(ctx.store);
  const rows = await listCosts(ctx.store, { groupBy, limit: 10, offset: 0 });
  return rows.filter((row) => row.model_calls > 0)
    .map((row) => [row.session_id ?? row.agent_id, row.model_calls, row.input_tokens]);
}

const volt = (name: string, parent: string, input: number, isAgent = false) =>
  span(name, parent, {
    scope: "@voltagent/core",
    attributes: isAgent
      ? {
        "entity.type": "agent",
        "entity.name": "Planner",
        "agent.state": "completed",
        "ai.model.name": "gpt-5-mini",
        "usage.prompt_tokens": input,
        "usage.completion_tokens": 9,
      }
      : {
        "llm.operation": "streamText",
        "llm.model": "gpt-5-mini",
        "llm.usage.prompt_tokens": input,
        "llm.usage.completion_tokens": 3,
      },
  });

for (const kind of dialectKinds()) {
  const test = bookingTests(kind, { clock: () => RECORDED_CLOCK, check: unchecked });
  const each = (records: TelemetryRecord[]) => records.map((record) => [record]);

  test("a call moves to the agent and the session that come after it, and stays there", async (ctx) => {
    const records = [
      call("a", "s", 10, 1),
      span("s", "r"),
      call("b", "r", 20, 2),
      agent("r", "p"),
      agent("p", "", { "gen_ai.conversation.id": "ses_1" }),
    ];
    await receive(ctx, each(records), 1);
    assert.deepEqual(await callsBy(ctx, "agent"), [["r", 2, 30]]);
    assert.deepEqual(await callsBy(ctx, "session"), [["ses_1", 2, 30]]);
    // A server that was restarted, and has forgotten the agent.
    await receive(ctx, each(records.slice(0, 3)), 1);
    assert.deepEqual(await callsBy(ctx, "agent"), [["r", 2, 30]]);
  });

  test("the rest of an agent's sum shrinks by the calls that come after it", async (ctx) => {
    await receive(ctx, each([volt("p", "", 100, true), volt("a", "p", 30), volt("b", "p", 20)]), 1);
    assert.deepEqual(await callsBy(ctx, "agent"), [["Planner", 3, 100]]);
  });
}
