import assert from "node:assert/strict";
import { sha256Hex } from "../../../src/kernel/encoding.ts";
import type { RestCase } from "../rest_case.ts";

export const reconciliationCases: RestCase[] = [
  {
    name: "a bill is compared with the ledger, its month is closed, and reopened with a reason",
    needs: "bills",
    async run(api) {
      const account = api.prefix;
      const { import_id } = await api.expect(200, "POST", "/bills/imports", {
        source: "csv",
        account,
        file: { sha256: await sha256Hex(`${account} reconciled`) },
      });
      await api.expect(200, "POST", `/bills/imports/${import_id}/lines`, {
        offset: 0,
        is_last: true,
        lines: [{
          series: "cost",
          category: "usage",
          starts_at: "2025-03-25T00:00:00Z",
          ends_at: "2025-03-26T00:00:00Z",
          model: account,
          amount: "1.25",
          currency: "USD",
        }],
      });
      const key = { source: "csv", account, month: "2025-03" };
      const found = await api.expect(200, "POST", "/reconciliations", key);
      assert.deepEqual([found.bill_usd, found.ledger_usd, found.unexplained_usd, found.state], [
        1.25,
        0,
        0,
        "open",
      ]);
      assert.deepEqual(found.bypass, [{ credential: null, amount_usd: 1.25, cells: 1 }]);
      const path = `/reconciliations/${found.reconciliation_id}`;
      assert.deepEqual(await api.expect(200, "GET", path), found);
      assert.deepEqual(await api.expect(200, "GET", `${path}/variances?cause=bypass`), found.variances);
      assert.deepEqual(await api.expect(200, "POST", `${path}/undo`), found);
      const { variances: _, ...listed } = found;
      assert.deepEqual(
        (await api.expect(200, "GET", "/reconciliations?month=2025-03&source=csv"))[0],
        listed,
      );
      const closed = await api.expect(200, "POST", "/bills/periods/close", key);
      assert.deepEqual([closed.state, closed.reconciliation_id], ["closed", found.reconciliation_id]);
      await api.refused(409, "conflict", "POST", "/bills/periods/close", key);
      await api.refused(409, "conflict", "POST", "/reconciliations", key);
      await api.refused(400, "invalid", "POST", "/bills/periods/reopen", key);
      const reason = { ...key, reason: "a new invoice" };
      assert.equal((await api.expect(200, "POST", "/bills/periods/reopen", reason)).state, "reopened");
      await api.refused(409, "conflict", "POST", "/bills/periods/reopen", reason);
      const months: { account: string | null; state: string }[] = await api.expect(
        200,
        "GET",
        "/bills/periods?source=csv",
      );
      assert.equal(months.find((one) => one.account === account)?.state, "reopened");
      await api.refused(404, "not_found", "GET", "/reconciliations/rec_nope");
      await api.refused(404, "not_found", "GET", "/reconciliations/rec_nope/variances");
      await api.refused(404, "not_found", "POST", "/reconciliations/rec_nope/undo");
      await api.refused(400, "invalid", "POST", "/reconciliations", { source: "csv", month: "2025-13" });
    },
  },
];
