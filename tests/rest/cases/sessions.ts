import assert from "node:assert/strict";
import type { TreeAgent } from "../../../src/contract/costs/session_trees.ts";
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
    name: "sessions are searched by words of their id, their agents, models and tags, and by status",
    async run(api) {
      const { prefix } = api;
      const ids = ["first", "Second", "third"].map((name) => `${prefix}:${name}`);
      await api.expect(201, "PUT", `/agents/${prefix}`, { model: "demo:echo", tags: { team: "search" } });
      const run = { input: "Hi", session_id: ids[0], tags: { customer: 'Acme "N\\V"', ticket: "Äpfel" } };
      await api.expect(200, "POST", `/agents/${prefix}/runs`, run);
      const call = (id: string, session: string, more: object) => ({
        ...{ call_id: `${prefix}${id}`, agent_id: `${prefix}-b`, session_id: session, provider: "acme" },
        ...{ input_tokens: 1, output_tokens: 1, cost_usd: 1, at: "2026-01-01T10:00:00.000Z" },
        ...more,
      });
      await api.expect(201, "POST", "/costs/events", [
        call("1", ids[1]!, { model: "Alpha-1", tags: { customer: "globex" } }),
        call("2", ids[1]!, { model: "beta", at: "2026-01-01T11:00:00.000Z" }),
        call("3", ids[2]!, { model: "beta", tags: { customer: "initech" } }),
        call("4", ids[2]!, { model: "beta", agent_id: `${prefix}-helper` }),
      ]);
      const find = async (query: string, path = "/sessions") => {
        const { rows } = await readPages<{ session_id: string }>(api, `${path}?${query}`);
        const found = rows.map(({ session_id }) => session_id);
        return ids.filter((id) => found.includes(id)).map((id) => id.slice(prefix.length + 1));
      };
      const search = (text: string, more = "") =>
        find(`search=${encodeURIComponent(`${prefix} ${text}`)}${more}`);
      assert.deepEqual(await search(""), ["first", "Second", "third"]);
      assert.deepEqual(await search("SECOND"), ["Second"]);
      assert.deepEqual(await search("acme:alpha"), ["Second"], "also a model that is not its newest");
      assert.deepEqual(await search("beta"), ["Second", "third"]);
      assert.deepEqual(await search("demo:echo"), ["first"]);
      assert.deepEqual(await search(`${prefix}-helper`), ["third"], "also an agent that is not its first");
      assert.deepEqual(await search("customer:globex"), ["Second"]);
      assert.deepEqual(await search("team:search"), ["first"]);
      assert.deepEqual(await search('acme "n\\v"'), ["first"]);
      assert.deepEqual(await search("Äpfel"), ["first"]);
      assert.deepEqual(await search("beta initech"), ["third"], "each word");
      assert.deepEqual(await search("globex initech"), []);
      assert.deepEqual(await search("%"), [], "no pattern");
      assert.deepEqual(await search("", "&status=completed"), ["first"]);
      assert.deepEqual(await search("", "&status=idle"), ["Second", "third"]);
      assert.deepEqual(await search("beta", "&status=completed"), []);
      assert.deepEqual(await search("", "&stored=true"), ["first"]);
      assert.deepEqual(await search("beta", "&limit=1"), ["Second", "third"], "page by page");
      assert.deepEqual(await find("search=echo", `/agents/${prefix}/sessions`), ["first"]);
      assert.deepEqual(await find("search=beta", `/agents/${prefix}/sessions`), []);
      await api.refused(400, "invalid", "GET", "/sessions?search=");
      await api.refused(400, "invalid", "GET", `/sessions?search=${"x".repeat(201)}`);
      await api.refused(400, "invalid", "GET", "/sessions?status=dead");
    },
  },
  {
    name: "sessions that are known from reported calls alone are listed and read, without a state",
    async run(api) {
      const { prefix } = api;
      const call = {
        agent_id: prefix,
        provider: "p",
        model: "m",
        input_tokens: 3,
        output_tokens: 2,
        cost_usd: 0.5,
      };
      const times = ["2026-01-01T10:00:00.000Z", "2026-01-01T11:00:00.000Z", "2026-01-01T12:00:00.000Z"];
      const session = `${prefix}:reported`;
      await api.expect(201, "POST", "/costs/events", [
        { ...call, call_id: `${prefix}1`, at: times[0], session_id: session },
        { ...call, call_id: `${prefix}2`, at: times[2], session_id: session },
        { ...call, call_id: `${prefix}3`, at: times[1], session_id: `${prefix}:mixed` },
        {
          ...call,
          call_id: `${prefix}4`,
          at: times[1],
          session_id: `${prefix}:mixed`,
          agent_id: `${prefix}-b`,
        },
      ]);
      await runTimes(api, ["a"], () => `${prefix}:stored`);
      const ofAgent = await readPages<{ session_id: string }>(api, `/agents/${prefix}/sessions?limit=1`);
      assert.deepEqual(ofAgent.rows.map(({ session_id }) => session_id), [`${prefix}:stored`, session]);
      const stored = await api.expect(200, "GET", `/agents/${prefix}/sessions?stored=true`);
      assert.deepEqual(stored.map(({ session_id }: { session_id: string }) => session_id), [
        `${prefix}:stored`,
      ]);
      const all = await readPages<{ session_id: string }>(api, "/sessions?limit=2");
      const ids = all.rows.map(({ session_id }) => session_id).filter((id) => id.startsWith(`${prefix}:`));
      assert.deepEqual(ids, [`${prefix}:stored`, session, `${prefix}:mixed`]);

      const { models, ...one } = await api.expect(200, "GET", `/sessions/${session}`);
      assert.deepEqual(models, ["p:m"]);
      assert.deepEqual(ofAgent.rows[1], one);
      const { token_usage, ...facts } = one;
      assert.deepEqual(facts, {
        session_id: session,
        agent_id: prefix,
        status: "idle",
        message_count: 0,
        event_log_count: 0,
        tags: {},
        active_run_id: null,
        created_at: times[0],
        updated_at: times[2],
      });
      assert.deepEqual([token_usage.model_calls, token_usage.cost_usd], [2, 1]);
      assert.deepEqual(await api.expect(200, "GET", `/sessions/${session}/events`), []);
      await api.refused(404, "not_found", "GET", `/agents/${session}/snapshot`);

      // A run on it gives it a state.
      await api.expect(200, "POST", `/agents/${prefix}/runs`, { input: "b", session_id: session });
      const { status, message_count, token_usage: usage } = await api.expect(
        200,
        "GET",
        `/sessions/${session}`,
      );
      assert.deepEqual([status, message_count, usage.model_calls], ["completed", 2, 3]);
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
  {
    name:
      "the tree of a session has its sub-agents and the runs below its runs, and a budget per tree counts them all",
    async run(api) {
      const { prefix } = api;
      await api.expect(201, "PUT", `/agents/${prefix}`, { model: "demo:echo" });
      const { budget_id } = await api.expect(201, "POST", "/budgets", {
        ...{ name: prefix, limit_usd: 10, per: "tree", agent_id: prefix },
      });
      const run = async (session_id: string, parent_run_id?: string) =>
        await api.expect(200, "POST", `/agents/${prefix}/runs`, { input: "Hi", session_id, parent_run_id });
      const root = await run(`${prefix}:root`);
      const below = await run(`${prefix}:below`, root.run_id);
      await run(`${prefix}:nested`, below.run_id);
      const call = (id: string, session_id: string, more: object) => ({
        ...{
          call_id: `${prefix}${id}`,
          agent_id: prefix,
          session_id,
          provider: "acme",
          model: "m",
          cost_usd: 1,
        },
        ...{ input_tokens: 1, output_tokens: 1, at: "2026-01-01T10:00:00.000Z", ...more },
      });
      await api.expect(201, "POST", "/costs/events", [
        call("1", `${prefix}:root`, { tags: { subagent: "one", subagent_type: "explore" } }),
        call("2", `${prefix}:root`, { tags: { subagent: "two", subagent_of: "one" } }),
        call("3", `${prefix}:nested`, { run_id: below.run_id, tags: { subagent: "three" } }),
      ]);
      const tree = await api.expect(200, "GET", `/sessions/${prefix}:root/tree`);
      assert.deepEqual(
        tree.agents.map((
          { depth, session_id, subagent, type, model_calls, with_subagents }: TreeAgent,
        ) => [
          ...[
            depth,
            session_id!.slice(prefix.length + 1),
            subagent,
            type,
            model_calls,
            with_subagents.model_calls,
          ],
        ]).sort(),
        [
          [0, "root", null, null, 1, 6],
          [1, "below", null, null, 1, 3],
          [1, "root", "one", "explore", 1, 2],
          [2, "nested", null, null, 1, 2],
          [2, "root", "two", null, 1, 1],
          [3, "nested", "three", null, 1, 1],
        ],
      );
      const counters = await api.expect(200, "GET", `/budgets/${budget_id}/counters`);
      assert.deepEqual(counters.map(({ kind, id }: Record<string, string>) => [kind, id]), [[
        "tree",
        `${prefix}:root`,
      ]]);
      assert.equal(counters[0].spent_usd, tree.agents[0].with_subagents.cost_usd);
      assert.ok(counters[0].spent_usd > 3);
      await api.refused(404, "not_found", "GET", `/sessions/${prefix}:none/tree`);
      await api.refused(400, "invalid", "POST", "/budgets", {
        ...{ name: prefix, limit_usd: 1, per: "tree", each: "session" },
      });
      await api.expect(204, "DELETE", `/budgets/${budget_id}`);
    },
  },
];
