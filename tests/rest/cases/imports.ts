import assert from "node:assert/strict";
import type { RestCase } from "../rest_case.ts";

const file = (path: string, more: object = {}) => ({
  path,
  size: 1_200,
  modified_at: 1_764_201_600_000,
  read_to: 1_100,
  head: "1024:x",
  is_ended: true,
  state: '{"held":[]}',
  unmetered: 1,
  malformed: 2,
  fault: null,
  ...more,
});

export const importCases: RestCase[] = [
  {
    name: "the state of each log file is stored by machine and importer, and replaced by the next one",
    async run(api) {
      const machine = api.prefix;
      const save = (files: object[], importer = "claude-code") =>
        api.expect(204, "PUT", "/imports/files", { machine, importer, files });
      const list = (query = "") =>
        api.expect(200, "GET", `/imports/files?machine=${machine}&importer=claude-code${query}`);
      assert.deepEqual(await list(), []);
      const [first, second] = [file("/a b/\u00fc.jsonl"), file("/c.jsonl", { state: null, is_ended: false })];
      await save([second, first]);
      await save([file("/other.jsonl")], "codex");
      assert.deepEqual(await list(), [first, second]);
      assert.deepEqual(await list("&limit=1"), [first]);
      const changed = file("/c.jsonl", { size: 9_000_000_000, read_to: 9_000_000_000 });
      await save([changed]);
      assert.deepEqual(await list(), [first, changed]);
      await save([]);
      assert.deepEqual(await list(), [first, changed]);
      await api.refused(400, "invalid", "GET", "/imports/files?machine=x");
      await api.refused(400, "invalid", "PUT", "/imports/files", {
        machine,
        importer: "x",
        files: [{ path: "/a" }],
      });
    },
  },
  {
    name: "the sources of calls are listed, with what their imports have left out, to readers only",
    async run(api) {
      const machine = api.prefix;
      const origin = { source: "log", name: "claude-code", machine, agent_id: api.prefix };
      const at = "2026-10-21T09:30:00Z";
      const sightings = [{ ref: machine, model: "gpt-6-luna", at, input_tokens: 1_000, output_tokens: 10 }];
      await api.expect(200, "POST", "/sightings", { origin, sightings });
      const files = [file("/a"), file("/b", { fault: "permission denied" })];
      await api.expect(204, "PUT", "/imports/files", { machine, importer: api.prefix, files });
      const all = await api.expect(200, "GET", "/sources?limit=1000");
      const own = all.find((source: { agent_id: string }) => source.agent_id === api.prefix);
      const { cost_usd, imported_at, ...rest } = own;
      assert.ok(cost_usd > 0 && Date.parse(imported_at) > 0);
      assert.deepEqual(rest, {
        source: "log",
        agent_id: api.prefix,
        machine,
        state: "unreadable",
        model_calls: 1,
        unpriced_calls: 0,
        seen_alone: 1,
        seen_with_others: 0,
        conflicts: 0,
        amended_calls: 0,
        first_at: "2026-10-21T09:30:00.000Z",
        last_at: "2026-10-21T09:30:00.000Z",
        lower_bound: true,
        holes: [],
        files: 2,
        unmetered: 2,
        rollups: 0,
        malformed: 4,
        duplicates: 0,
        unreadable_files: 1,
        fault: "/b: permission denied",
      });
      const total = await api.expect(200, "GET", `/costs/total?agent_id=${api.prefix}`);
      assert.deepEqual([total.model_calls, total.lower_bound_calls], [1, 1]);
    },
  },
];
