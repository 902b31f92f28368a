import assert from "node:assert/strict";
import type { RestApi, RestCase } from "../rest_case.ts";

/** Follows `Link` to its end. */
async function readPages<Row>(api: RestApi, path: string): Promise<{ rows: Row[]; pages: number }> {
  const rows: Row[] = [];
  let pages = 0;
  for (let next: string | undefined = path; next !== undefined; pages++) {
    const { status, body, headers } = await api.send("GET", next);
    assert.equal(status, 200);
    rows.push(...(Array.isArray(body) ? body : body.calls));
    next = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
  }
  return { rows, pages };
}

async function runTimes(api: RestApi, inputs: readonly string[], sessionOf: (index: number) => string) {
  await api.expect(201, "PUT", `/agents/${api.prefix}`, { model: "demo:echo", tools: ["calculator"] });
  for (const [index, input] of inputs.entries()) {
    await api.expect(200, "POST", `/agents/${api.prefix}/runs`, { input, session_id: sessionOf(index) });
  }
}

export const sessionCases: RestCase[] = [
  {
    name: "following Link to its end gives every session exactly once, latest first",
    async run(api) {
      const { prefix } = api;
      await runTimes(api, ["a", "b", "c", "d", "e"], (index) => `${prefix}:${index}`);
      const wanted = [4, 3, 2, 1, 0].map((index) => `${prefix}:${index}`);
      const ofAgent = await readPages<{ session_id: string }>(api, `/agents/${prefix}/sessions?limit=2`);
      assert.deepEqual(ofAgent.rows.map(({ session_id }) => session_id), wanted);
      assert.equal(ofAgent.pages, 3);
      const all = await readPages<{ session_id: string }>(api, "/sessions?limit=3");
      const ids = all.rows.map(({ session_id }) => session_id);
      assert.deepEqual(ids.filter((id) => id.startsWith(`${prefix}:`)), wanted);
      assert.equal(new Set(ids).size, ids.length);
      await api.refused(400, "invalid", "GET", "/sessions?limit=0");
      await api.refused(400, "invalid", "GET", "/sessions?cursor=nonsense");
      await api.refused(400, "invalid", "GET", `/agents/${prefix}/sessions?surprise=1`);
    },
  },
  {
    name: "a session's event log is read in pages, in order",
    async run(api) {
      const session = `${api.prefix}:s`;
      await runTimes(api, ["What is 2 + 2?", "Bye"], () => session);
      const all: { seq: number }[] = await api.expect(200, "GET", `/sessions/${session}/events`);
      assert.deepEqual(all.map(({ seq }) => seq), all.map((_, index) => index + 1));
      const parts: { seq: number }[] = [];
      for (;;) {
        const after = parts.at(-1)?.seq ?? 0;
        const page = await api.expect(200, "GET", `/sessions/${session}/events?after=${after}&limit=4`);
        if (page.length === 0) break;
        parts.push(...page);
      }
      assert.deepEqual(parts, all);
      await api.refused(404, "not_found", "GET", "/sessions/ses_nowhere/events");
      await api.refused(400, "invalid", "GET", `/sessions/${session}/events?after=-1`);
      await api.refused(404, "not_found", "GET", "/sessions/ses_nowhere");
    },
  },
  {
    name: "a session's cost is listed per call and per step, in pages",
    async run(api) {
      const session = `${api.prefix}:s`;
      await runTimes(api, ["What is 2 + 2?", "What is 3 + 3?"], () => session);
      const { calls, steps, token_usage } = await api.expect(200, "GET", `/sessions/${session}/costs`);
      assert.deepEqual([calls.length, steps.length, token_usage.model_calls], [4, 4, 4]);
      const cost = calls.reduce((sum: number, call: { cost_usd: number }) => sum + call.cost_usd * 1e9, 0);
      assert.equal(Math.round(cost), Math.round(token_usage.cost_usd * 1e9));
      const { rows, pages } = await readPages(api, `/sessions/${session}/costs?limit=3`);
      assert.deepEqual([rows, pages], [calls, 2]);
      await api.refused(404, "not_found", "GET", "/sessions/ses_nowhere/costs");
    },
  },
];
