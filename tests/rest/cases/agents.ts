import assert from "node:assert/strict";
import type { RestCase } from "../rest_case.ts";

export const agentCases: RestCase[] = [
  {
    name: "an agent is defined, read, replaced, listed and removed",
    async run(api) {
      const path = `/agents/${api.prefix}`;
      const full = {
        model: "demo:loop",
        system_prompt: "Count.",
        cost_budget_usd: 0.000000001,
        budget_mode: "strict",
        allow_unpriced: true,
        max_steps: 7,
        max_output_tokens: 100,
        tools: ["calculator"],
      };
      const created = await api.expect(201, "PUT", path, full);
      assert.deepEqual({ ...created, ...full }, created);
      const replaced = await api.expect(200, "PUT", path, { model: "demo:echo" });
      assert.deepEqual([replaced.cost_budget_usd, replaced.created_at], [null, created.created_at]);
      const { token_usage, ...read } = await api.expect(200, "GET", path);
      assert.deepEqual(read, replaced);
      assert.deepEqual([token_usage.model_calls, token_usage.cost_usd, token_usage.model], [0, 0, null]);
      const listed: { agent_id: string }[] = await api.expect(200, "GET", "/agents");
      assert.deepEqual(listed.find(({ agent_id }) => agent_id === api.prefix), replaced);
      await api.expect(201, "PUT", `${path}_2`, full);
      const page = await api.send("GET", "/agents?limit=1");
      assert.equal(page.body.length, 1);
      assert.match(page.headers.get("link") ?? "", /^<\/agents\?.*cursor=.*rel="next"$/);
      assert.equal((await api.fetch("HEAD", path)).status, 200);
      assert.equal(await api.expect(204, "DELETE", path), "");
      assert.equal(await api.expect(204, "DELETE", `${path}_2`), "");
      await api.refused(404, "not_found", "DELETE", path);
      await api.refused(404, "not_found", "GET", path);
    },
  },
  {
    name: "an agent is replaced or removed only as it was seen, and defined only where there is none",
    async run(api) {
      const path = `/agents/${api.prefix}`;
      const send = async (method: string, headers: Record<string, string>, body?: unknown) => {
        const answer = await api.send(method, path, body, headers);
        return [answer.status, answer.body.code ?? answer.headers.get("etag")];
      };
      const [created, first] = await send("PUT", { "if-none-match": "*" }, { model: "demo:echo" });
      assert.equal(created, 201);
      const refused = [412, "precondition_failed"];
      assert.deepEqual(await send("PUT", { "if-none-match": "*" }, { model: "demo:loop" }), refused);
      const [replaced, second] = await send("PUT", { "if-match": first }, { model: "demo:loop" });
      assert.equal(replaced, 200);
      assert.deepEqual(await send("PUT", { "if-match": first }, { model: "demo:echo" }), refused);
      assert.deepEqual(await send("DELETE", { "if-match": first }), refused);
      assert.deepEqual(await send("GET", {}), [200, second]);
      assert.equal((await send("DELETE", { "if-match": second }))[0], 204);
    },
  },
  {
    name: "an invalid agent is refused, with the path of the fault",
    async run(api) {
      const problem = await api.refused(400, "invalid", "PUT", `/agents/${api.prefix}`, {
        model: 1,
        max_steps: 0,
        odd: true,
      });
      const paths = problem.details.issues.map((issue: { path: string }) => issue.path);
      assert.deepEqual(paths, ["model", "max_steps", "odd"]);
      await api.refused(400, "invalid", "PUT", "/agents/snapshot", { model: "demo:echo" });
      await api.refused(400, "invalid", "PUT", `/agents/${api.prefix}`, { model: "unknown:model" });
    },
  },
  {
    name: "an agent without its definition keeps its sessions and its costs",
    async run(api) {
      const agent = api.prefix;
      await api.expect(201, "PUT", `/agents/${agent}`, { model: "demo:echo" });
      const { session_id } = await api.expect(200, "POST", `/agents/${agent}/runs`, { input: "Hi" });
      await api.expect(204, "DELETE", `/agents/${agent}`);
      await api.expect(200, "GET", `/sessions/${session_id}`);
      assert.equal((await api.expect(200, "GET", `/agents/${agent}/sessions`)).length, 1);
      assert.equal((await api.expect(200, "GET", `/costs?agent_id=${agent}`))[0].model_calls, 1);
      await api.refused(404, "not_found", "POST", `/agents/${agent}/runs`, { input: "Hi" });
    },
  },
];
