import assert from "node:assert/strict";
import { EVENT } from "../../harness/bodies.ts";
import type { RestCase } from "../rest_case.ts";

export const priceCases: RestCase[] = [
  {
    name: "it shows where its prices come from",
    async run(api) {
      const { sources, price } = await api.expect(200, "GET", "/prices");
      assert.equal(price, null);
      const names = sources.map(({ name, origin }: Record<string, string>) => [name, origin]);
      assert.deepEqual(names, [["genai-prices", "release"], ["litellm", "release"]]);
      for (const { models, date } of sources) assert.ok(models > 1_000 && /^\d{4}-\d{2}-\d{2}$/.test(date));
    },
  },
  {
    name: "it shows the rates of a model, of the config before those of the catalog",
    async run(api) {
      const path = "/prices?model=gpt-4o-mini-2024-07-18&provider=openai&at=2026-11-01T00:00:00Z";
      const { price } = await api.expect(200, "GET", path);
      assert.deepEqual([price.provider, price.matched_model], ["openai", "gpt-4o-mini"]);
      const { source, ...rate } = price.tiers[0].rates[0];
      assert.deepEqual(rate, { part: "input_tokens", usd: 0.15, per: 1_000_000 });
      assert.match(source, /^genai-prices@/);
      assert.ok(price.unpriced.includes("output_audio_tokens"));
      const named = await api.expect(200, "GET", "/prices?model=openai:gpt-4o-mini&service_tier=batch");
      assert.equal(named.price.tiers[0].rates[0].usd, 0.075);
      const own = await api.expect(200, "GET", "/prices?model=local:my-model");
      assert.equal(own.price.source, "config");
    },
  },
  {
    name: "it keeps prices that are set, and shows the rates of a model by them",
    async run(api) {
      const row = { provider: "own", model: "set", input_usd_per_million: 3, output_usd_per_million: 4 };
      const { price_id, ...set } = await api.expect(201, "PUT", "/prices/rows", row);
      assert.deepEqual([set.name, set.input_usd_per_million], ["own:set", 3]);
      await api.expect(200, "PUT", "/prices/rows", { ...row, input_usd_per_million: 5 });
      const listed = await api.expect(200, "GET", "/prices/rows");
      assert.deepEqual(listed.map(({ name }: Record<string, string>) => name), ["own:set"]);
      const read = await api.expect(200, "GET", `/prices/rows/${price_id}`);
      assert.equal(read.input_usd_per_million, 5);
      await api.expect(204, "DELETE", `/prices/rows/${price_id}`);
      await api.refused(404, "not_found", "GET", `/prices/rows/${price_id}`);
      await api.refused(404, "not_found", "DELETE", `/prices/rows/${price_id}`);
      await api.refused(400, "invalid", "PUT", "/prices/rows", { ...row, output_usd_per_million: -1 });
    },
  },
  {
    name: "it lists what calls are paid with, and keeps the id by which bills name a key",
    async run(api) {
      const account = `${api.prefix}-org`;
      const call = {
        ...EVENT,
        call_id: `${api.prefix}:paid`,
        agent_id: api.prefix,
        session_id: `${api.prefix}:s`,
      };
      await api.expect(201, "POST", "/costs/events", [{
        ...call,
        account,
        project: "proj_1",
        request_id: "req_0123456789",
        requested_service_tier: "flex",
        outcome: "failed",
        http_status: 529,
      }]);
      const listed = await api.expect(200, "GET", "/upstreams?from=2020-01-01");
      const own = listed.find((one: Record<string, unknown>) => one.account === account);
      assert.deepEqual({ ...own, upstream_id: "", last_used_at: "" }, {
        ...{
          upstream_id: "",
          provider: EVENT.provider,
          credential: null,
          key_hash: null,
          account,
          project: "proj_1",
        },
        ...{ key_id: null, model_calls: 1, last_used_at: "" },
      });
      const at = `/upstreams/${own.upstream_id}`;
      assert.equal((await api.expect(200, "PATCH", at, { key_id: "key_1" })).key_id, "key_1");
      const explained = await api.expect(200, "GET", `/costs/calls/${encodeURIComponent(call.call_id)}`);
      assert.deepEqual([explained.upstream.account, explained.upstream.key_id], [account, "key_1"]);
      const { request_id, upstream_id, requested_service_tier, outcome, http_status } = explained.call;
      assert.deepEqual([request_id, upstream_id, requested_service_tier, outcome, http_status], [
        ...["req_0123456789", own.upstream_id, "flex", "failed", 529],
      ]);
      assert.equal((await api.expect(200, "PATCH", at, { key_id: null })).key_id, null);
      const [change] = await api.expect(200, "GET", "/audit?kind=upstream&limit=1");
      assert.deepEqual([change.before, change.after], [{ key_id: "key_1" }, { key_id: null }]);
      await api.refused(404, "not_found", "PATCH", "/upstreams/ups_0000000000000", { key_id: "key_1" });
      await api.refused(400, "invalid", "PATCH", "/upstreams/acme", { key_id: "key_1" });
      await api.refused(400, "invalid", "PATCH", at, { key_id: "" });
    },
  },
  {
    name: "it suggests the nearest models for an unknown one",
    async run(api) {
      const problem = await api.refused(404, "not_found", "GET", "/prices?model=openai:gpt-4o-mino");
      assert.equal(problem.details.nearest[0], "openai:gpt-4o-mini");
      assert.match(problem.detail, /did you mean openai:gpt-4o-mini/);
      await api.refused(400, "invalid", "GET", "/prices?provider=openai");
      await api.refused(400, "invalid", "GET", "/prices?model=gpt-4o-mini&at=yesterday");
    },
  },
];
