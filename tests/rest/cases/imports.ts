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
];
