import assert from "node:assert/strict";
import { changeAddress, expectAccessible } from "../harness/browser.ts";
import { testDashboard } from "../harness/dashboard.ts";
import { call, openAt, rowsOf } from "./_money.ts";

/** The sources of calls in the dashboard, and the calls that only logs have seen. */

const HOSTILE = "\u202e<img src=x onerror=alert(1)>";

const LOG = { source: "log", name: "claude-code", machine: "laptop", agent_id: "claude-code" };

const seen = (ref: string, more: object = {}) => ({
  ref,
  model: "gpt-5",
  provider: "openai",
  at: "2026-11-01T10:00:00.000Z",
  input_tokens: 1_000,
  output_tokens: 100,
  ...more,
});

testDashboard("the sources of calls", {}, {
  async "there are none yet, and the page says which command changes that"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/sources");
    await opened.page.getByText("No calls yet").waitFor();
    await opened.page.getByText("purser import").waitFor();
  },

  async "each has its calls, what others have seen, and its last import; logs have what they leave out"(
    dashboard,
  ) {
    const { purser } = dashboard;
    const report = call("1", "2026-11-01T09:00:00.000Z", "coder", 1, { response_id: "resp_0123456789" });
    assert.equal((await purser.api("POST", "/costs/events", [report])).status, 201);
    const sightings = [seen("a"), seen("b"), seen("c", { response_id: "resp_0123456789", at: report.at })];
    const { body } = await purser.api("POST", "/sightings", { origin: LOG, sightings });
    assert.deepEqual(body.outcomes.slice(0, 2), ["booked", "booked"]);
    const file = { path: `/${HOSTILE}`, size: 1, modified_at: 1, read_to: 1, head: "", is_ended: true };
    await purser.api("PUT", "/imports/files", {
      machine: "laptop",
      importer: "claude-code",
      files: [{ ...file, state: null, unmetered: 3, malformed: 2, fault: "permission denied" }],
    });
    await using opened = await openAt(dashboard, "/ui/sources");
    const rows = await rowsOf(opened.page, "Sources of calls");
    assert.equal(rows.length, 2);
    const [log] = rows;
    assert.match(log!, /^loglower bound \| claude-code \| laptop \| unreadable.*permission denied \| 2 \| /);
    assert.match(
      log!,
      / \| 11 with other counts \| 0 \| 2 h agofirst 3 h ago \| just now1 file \| 32 malformed$/,
    );
    assert.match(rows[1]!, /^report \| all \| none \| active \| 1 \| /);
    await opened.page.getByText("Compactions, session titles").waitFor();
    await expectAccessible(opened.page);
  },

  async "the calls of logs are named in the head of the costs, and lead to the sources"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/costs?span=all");
    const note = opened.page.locator(".coverage-note");
    await note.waitFor();
    assert.equal(await note.textContent(), "2 of 3 calls are lower bounds: see which");
    await note.getByRole("link").click();
    await opened.page.getByText("which leave out some").waitFor();
    await expectAccessible(opened.page);
    await changeAddress(opened.page, "/ui/costs/coverage?agent_id=coder");
    await opened.page.getByText("none is known from a log alone").waitFor();
  },

  async "telemetry that leaves out calls is incomplete, with what to switch on"(dashboard) {
    const span = (spanId: string, attributes: Record<string, string | number>) => ({
      traceId: "1".repeat(32),
      spanId: spanId.repeat(16),
      name: "chat",
      kind: 3,
      startTimeUnixNano: `${Date.parse("2026-11-01T10:30:00Z")}000000`,
      endTimeUnixNano: `${Date.parse("2026-11-01T10:30:01Z")}000000`,
      attributes: Object.entries(attributes).map(([key, value]) => ({
        key,
        value: typeof value === "number" ? { intValue: value } : { stringValue: value },
      })),
    });
    const call = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5" };
    const spans = [span("1", { ...call, "gen_ai.usage.input_tokens": 10 }), span("2", call)];
    const response = await fetch(`${dashboard.url}/v1/traces`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        resourceSpans: [{
          resource: { attributes: [{ key: "service.name", value: { stringValue: HOSTILE } }] },
          scopeSpans: [{ scope: { name: `scope ${HOSTILE}` }, spans }],
        }],
      }),
    });
    assert.equal(response.status, 200, await response.text());
    await using opened = await openAt(dashboard, "/ui/sources");
    const [row] = (await rowsOf(opened.page, "Sources of calls")).filter((one) => one.startsWith("otlp"));
    assert.match(row!, /^otlplower bound \| .* \| none \| incomplete \| 1 \| .* \| 1$/);
    await opened.page.getByText("1 model call without usage").waitFor();
    await expectAccessible(opened.page);
  },
});
