import assert from "node:assert/strict";
import { EVENT } from "../../harness/bodies.ts";
import type { RestCase } from "../rest_case.ts";

export const exportCases: RestCase[] = [
  {
    name: "entries of the ledger are read by position, page by page, with exact amounts",
    async run(api) {
      const at = new Date().toISOString();
      const report = (id: string) => ({
        ...EVENT,
        call_id: `${api.prefix}:${id}`,
        agent_id: api.prefix,
        at,
        cost_usd: 0.000000001,
      });
      await api.expect(201, "POST", "/costs/events", ["1", "2", "3"].map(report));
      const own: unknown[][] = [];
      let ledger: string | undefined;
      for (let after = 0;;) {
        const page = await api.expect(200, "GET", `/exports/calls?after=${after}&limit=2`);
        const columns: string[] = page.columns.map(({ name }: { name: string }) => name);
        const cell = (row: unknown[], name: string) => row[columns.indexOf(name)];
        assert.equal(page.ledger, ledger ?? page.ledger);
        ledger = page.ledger;
        own.push(
          ...page.rows.filter((row: unknown[]) => cell(row, "agent_id") === api.prefix)
            .map((row: unknown[]) => [cell(row, "call_id"), cell(row, "cost_usd"), cell(row, "at")]),
        );
        after = page.next_position;
        if (after >= page.head_position) break;
      }
      assert.deepEqual(own, ["1", "2", "3"].map((id) => [`${api.prefix}:${id}`, "0.000000001", at]));
      await api.refused(400, "invalid", "GET", "/exports/calls?after=-1");
    },
  },
  {
    name: "calls are charges of FOCUS, by hour or by call",
    async run(api) {
      const at = new Date().toISOString();
      await api.expect(201, "POST", "/costs/events", [{
        ...EVENT,
        call_id: `${api.prefix}:1`,
        agent_id: api.prefix,
        at,
        cost_usd: 0.25,
      }]);
      const day = at.slice(0, 10);
      const to = new Date(Date.parse(day) + 86_400_000).toISOString();
      for (const version of ["1.2", "1.4"]) {
        const charges: Record<string, unknown>[] = [];
        for (let cursor = "";;) {
          const page = await api.expect(
            200,
            "GET",
            `/exports/focus?version=${version}&from=${day}&to=${to}&per_call=true${cursor}`,
          );
          charges.push(
            ...page.rows.map((row: unknown[]) =>
              Object.fromEntries(
                page.columns.map(({ name }: { name: string }, index: number) => [name, row[index]]),
              )
            ),
          );
          if (page.next_cursor === null) break;
          cursor = `&cursor=${page.next_cursor}`;
        }
        const [charge] = charges.filter(({ x_CallId }) => x_CallId === `${api.prefix}:1`);
        assert.deepEqual(
          [charge!.BilledCost, charge!.PricingQuantity, charge!.PricingUnit, charge!.ListUnitPrice],
          ["0.25", "1.0", "Requests", "0.25"],
        );
        assert.equal("ProviderName" in charge!, version === "1.2");
      }
      await api.refused(400, "invalid", "GET", "/exports/focus?from=2026-11-02&to=2026-11-01");
      await api.refused(400, "invalid", "GET", "/exports/focus?version=1.3&from=2026-11-01&to=2026-11-02");
      await api.refused(400, "invalid", "GET", "/exports/focus?from=2026-11-01&to=2026-11-02&cursor=x");
    },
  },
  {
    name: "a statement of a month is drafted and issued by a tag",
    async run(api) {
      const month = "2026-01";
      // No other case has this tag.
      const tag = `t${api.prefix.replace(/[^A-Za-z0-9]/g, "")}`.slice(0, 40);
      const call = {
        ...EVENT,
        agent_id: api.prefix,
        at: "2026-01-15T00:00:00Z",
        cost_usd: 1.5,
        tags: { [tag]: "acme" },
      };
      await api.expect(201, "POST", "/costs/events", [{ ...call, call_id: `${api.prefix}:1` }]);
      const draft = await api.expect(200, "GET", `/statements?month=${month}&by=${tag}&markup=10`);
      const acme = ({ subjects }: { subjects: { subject: string | null }[] }) =>
        subjects.find(({ subject }) => subject === "acme");
      assert.deepEqual(
        [draft.version, acme(draft)],
        [null, {
          subject: "acme",
          amount_usd: "1.5",
          corrections_usd: "0",
          shared_usd: "0",
          markup_usd: "0.15",
          total_usd: "1.65",
        }],
      );
      const issued = await api.expect(200, "POST", "/statements", { month, by: tag, markup: "10" });
      assert.equal(issued.version, 1);
      assert.deepEqual(
        await api.expect(200, "GET", `/statements?month=${month}&by=${tag}&version=1`),
        issued,
      );
      await api.refused(404, "not_found", "GET", `/statements?month=${month}&by=${tag}&version=2`);
      await api.refused(400, "invalid", "GET", `/statements?month=${month}&by=${tag}s`);
      await api.refused(400, "invalid", "POST", "/statements", { month, by: tag, markup: "101" });
    },
  },
];
