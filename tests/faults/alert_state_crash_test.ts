import assert from "node:assert/strict";
import type { RuleInCode } from "../../src/alerts/mod.ts";
import { inDirectory } from "../harness/in_directory.ts";
import { isThorough } from "../harness/thorough.ts";
import { startWebhookReceiver } from "../harness/webhook_receiver.ts";
import type { Moment } from "./alert_worker.ts";
import { lookInto, startWorker } from "./alert_workers.ts";

/**
 * Processes that are killed while an alert is acknowledged or resolved. The outbox promises that each state is told at least once,
 * and again only if the process died between the send and its commit; a repetition has the same deduplication key.
 */

const RULE: RuleInCode = {
  rule_id: "rule_day",
  name: "Day",
  threshold_type: "per_day_usd",
  threshold_usd: 0.000_000_001,
  cooldown_seconds: 31_536_000,
  severity: "critical",
};

/** After the commit of the state; after the claim; while PagerDuty holds the event; after its answer, before the commit. */
type Aim = Exclude<Moment, "booked"> | "sent";

const ALL = (["acknowledge", "resolve"] as const).flatMap((state) =>
  (["stated", "claimed", "sent", "answered"] as const).map((aim): [typeof state, Aim] => [state, aim])
);

for (const [state, aim] of isThorough ? ALL : [ALL[0]!, ALL.at(-1)!]) {
  Deno.test(`a kill while PagerDuty is told to ${state} (${aim}) loses no state and opens no second incident`, () =>
    inDirectory(async (folder) => {
      const db = `${folder}/books.db`;
      await using receiver = startWebhookReceiver(() => 202);
      const open = (name: string, rules: RuleInCode[] = []) => ({
        open: { db, url: receiver.url, name, rules, isPager: true },
      });
      /** Runs a process to its end, or to its kill. */
      const live = async (orders: Parameters<ReturnType<typeof startWorker>["order"]>[0][]) => {
        await using worker = startWorker();
        if (aim === "sent") {
          receiver.answer = ({ body }) => {
            if (JSON.parse(body).event_action !== state || orders.length > 2) return 202;
            worker.kill();
            return new Promise(() => {});
          };
        }
        for (const order of orders) void worker.order(order);
        return await worker.ended;
      };
      const end = [{ drain: true }, { close: true }] as const;
      assert.ok(await live([open("first", [RULE]), { run: { first: 0, count: 1 } }, ...end]));
      if (state === "resolve") await change(db, "UPDATE alert_rules SET enabled = 0");

      const kill = aim === "sent" ? undefined : { moment: aim, turn: 1 };
      assert.equal(await live([open("killed"), { state, kill }]), false, "it was killed");
      await change(
        db,
        "UPDATE deliveries SET due_at = 0, lost_claims = 0 WHERE status = 'pending'",
      );
      // The next process finds the state; if it is to resolve, it looks as each does every minute.
      const next = state === "resolve" ? [{ state } as const] : [];
      assert.ok(await live([open("next"), ...next, ...end]));

      const events = receiver.received.map(({ body }) => JSON.parse(body));
      assert.equal(new Set(events.map(({ dedup_key }) => dedup_key)).size, 1);
      const actions = events.map(({ event_action }) => event_action);
      const times = aim === "sent" || aim === "answered" ? 2 : 1;
      assert.deepEqual(actions, ["trigger", ...Array(times).fill(state)]);
      await using store = await lookInto(db);
      const { rows } = await store.read({
        sql: `SELECT acknowledged_at IS NOT NULL, note, resolved_at IS NOT NULL,
          (SELECT count(*) FROM deliveries WHERE status <> 'delivered') FROM alerts`,
      });
      assert.deepEqual(rows.map((row) => [...row].map((value) => value === null ? null : String(value))), [
        state === "acknowledge" ? ["1", "seen", "0", "0"] : ["0", null, "1", "0"],
      ]);
    }));
}

/** Changes a database that no process has open. */
async function change(db: string, sql: string): Promise<void> {
  await using store = await lookInto(db);
  await store.write([{ sql }]);
}
