import assert from "node:assert/strict";
import { sha256Hex } from "../../../src/kernel/encoding.ts";
import type { RestCase } from "../rest_case.ts";

const line = (model: string, amount: string, currency = "USD") => ({
  series: "cost",
  category: "usage",
  starts_at: "2026-11-25T00:00:00Z",
  ends_at: "2026-11-26T00:00:00Z",
  model,
  amount,
  currency,
});

export const billCases: RestCase[] = [
  {
    name:
      "the lines of a file are seen once all of them are there, a second one revises them, and the same is known",
    needs: "bills",
    async run(api) {
      const account = api.prefix;
      const begin = async (name: string) =>
        await api.expect(200, "POST", "/bills/imports", {
          source: "csv",
          account,
          file: { sha256: await sha256Hex(account + name) },
        });
      const add = (id: string, offset: number, lines: object[], is_last: boolean) =>
        api.expect(200, "POST", `/bills/imports/${id}/lines`, {
          offset,
          lines,
          is_last,
          unknown: { "column x": 1 },
        });
      const list = () => api.expect(200, "GET", `/bills/lines?account=${account}&month=2026-11`);
      const first = await begin("a");
      assert.deepEqual([first.status, first.lines, first.retry_after_seconds], ["in_progress", 0, null]);
      await add(first.import_id, 0, [line("a", "1.50"), line("b", "2", "EUR")], false);
      assert.deepEqual(await list(), []);
      await api.refused(409, "conflict", "POST", `/bills/imports/${first.import_id}/lines`, {
        offset: 0,
        lines: [],
        is_last: true,
      });
      assert.equal((await begin("a")).lines, 2);
      const done = await add(first.import_id, 2, [line("c", "-0.000000000000000001")], true);
      assert.deepEqual([done.status, done.new_lines, done.unknown], ["done", 3, { "column x": 2 }]);
      assert.equal((await begin("a")).import_id, first.import_id);
      const second = await begin("b");
      await add(second.import_id, 0, [line("a", "1.75")], true);
      const lines: { model: string; amount: string; currency: string; revision: number }[] = await list();
      assert.deepEqual(
        lines.map(({ model, amount, currency, revision }) => [model, amount, currency, revision]),
        [
          ["b", "2", "EUR", 1],
          ["c", "-0.000000000000000001", "USD", 1],
          ["a", "1.75", "USD", 2],
        ],
      );
      const [before] = await api.expect(200, "GET", `/bills/lines?account=${account}&state=replaced`);
      assert.deepEqual([before.amount, before.replaced_by], ["1.5", second.import_id]);
      const imports = await api.expect(200, "GET", "/bills/imports?source=csv&limit=2");
      assert.equal(imports[0].import_id, second.import_id);
    },
  },
  {
    name: "a bill that can't be imported is refused, with the remedy",
    needs: "bills",
    async run(api) {
      const window = { from: "2026-11-01T00:00:00Z", to: "2026-11-02T00:00:00Z" };
      const refused = (code: number, name: string, body: object) =>
        api.refused(code, name, "POST", "/bills/imports", body);
      await refused(400, "invalid", { source: "openai" });
      const { detail } = await refused(400, "invalid", { source: "openai", ...window });
      assert.match(detail, /OPENAI_ADMIN_KEY is not set; it needs an Admin key/);
      await refused(400, "invalid", { source: "nope", ...window });
      await refused(400, "invalid", { source: "csv", file: { sha256: "x" } });
      await api.refused(404, "not_found", "POST", "/bills/imports/bim_nope/lines", {
        offset: 0,
        lines: [],
        is_last: true,
      });
    },
  },
  {
    name: "an edge refuses to import a bill, and lists those that others have imported",
    without: "bills",
    async run(api) {
      const body = { source: "csv", file: { sha256: "0".repeat(64) } };
      const { detail } = await api.refused(501, "unsupported", "POST", "/bills/imports", body);
      assert.match(detail, /import it by a server or a command on the same database/);
      await api.refused(501, "unsupported", "POST", "/bills/imports/bim_x/lines", {
        offset: 0,
        lines: [],
        is_last: true,
      });
      await api.expect(200, "GET", "/bills/lines?month=2026-11");
      await api.expect(200, "GET", "/bills/imports");
    },
  },
];
