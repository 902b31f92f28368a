import assert from "node:assert/strict";
import { resolveAlerts } from "../src/alerts/follow/mod.ts";
import { createAlertEvaluator, createDispatcher } from "../src/alerts/mod.ts";
import { deliverDue } from "../src/delivery/mod.ts";
import { deliveryContext } from "../src/service/work.ts";
import { DAY_MS, HOUR_MS } from "../src/kernel/clock.ts";
import { EVENT } from "./harness/bodies.ts";
import { dialectKinds } from "./harness/databases.ts";
import { passing, type RecordingChannel, recordingChannel } from "./harness/recording_channel.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** Alerts that are acknowledged and resolved, over both dialects of SQL. The clock stands at noon of 1 November 2026. */

const RULE = { name: "Limit", threshold_usd: 1, severity: "critical", cooldown_seconds: 0 };

interface World {
  purser: TestPurser;
  /** Gets what happens to alerts later; `mail` doesn't. */
  pager: RecordingChannel;
  mail: RecordingChannel;
  /** Books a call, and waits for what it fires to be delivered. */
  spend(usd: number, more?: object): Promise<void>;
  /** Looks for alerts that are over, as two instances at once, and waits for the deliveries. */
  follow(): Promise<void>;
  /** The states of the history, oldest first. */
  states(): Promise<string[]>;
  titles(channel: RecordingChannel): string[];
}

for (const kind of dialectKinds()) {
  const test = (says: string, fn: (world: World) => Promise<void>) =>
    Deno.test({
      name: `${kind.name}: ${says}`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        const [pager, mail] = [recordingChannel("pager", { sendResolved: true }), recordingChannel("mail")];
        const dbUrl = await database.address?.();
        await using purser = await openTestPurser({
          alerts: createAlertEvaluator({ rules: [], dispatcher: createDispatcher([pager, mail]) }),
          ...(dbUrl !== undefined && { config: { dbUrl } }),
        });
        let calls = 0;
        const core = await purser.core.whole();
        // The connection of another instance, of a server.
        const other = dbUrl === undefined ? core.store : await database.open({ isMigrated: false });
        await using closing = new AsyncDisposableStack();
        if (other !== core.store) closing.defer(() => other.close());
        await fn({
          ...{ purser, pager, mail },
          async spend(usd, more = {}) {
            const at = new Date(purser.clock.now()).toISOString();
            const event = { ...EVENT, call_id: `c${++calls}`, at, cost_usd: usd, ...more };
            assert.equal((await purser.api("POST", "/costs/events", [event])).status, 201);
            await core.drainDeliveries();
          },
          async follow() {
            await Promise.all([resolveAlerts(core), resolveAlerts({ ...core, store: other })]);
            await deliverDue(deliveryContext(core), { timeoutMs: 10_000, attemptsPerChannel: 20 });
            await core.drainDeliveries();
          },
          states: async () =>
            (await purser.api("GET", "/alerts/history")).body
              .map(({ state }: { state: string }) => state).reverse(),
          titles: ({ sent }) => sent.map(({ notification: { title } }) => title.replace(/: .*/, "")),
        });
      },
    });

  const ackOf = async ({ purser }: World, note?: string) => {
    const { body: [{ alert_id }] } = await purser.api("GET", "/alerts/history?limit=1");
    return await purser.api("POST", `/alerts/history/${alert_id}/ack`, note === undefined ? {} : { note });
  };

  test("an acknowledged alert of a day is not repeated until the next day, and says who acknowledged it", async (world) => {
    const { purser, spend, states, pager, mail, titles } = world;
    await purser.api("POST", "/alerts/rules", { ...RULE, threshold_type: "per_day_usd" });
    await spend(1);
    await spend(1);
    assert.deepEqual(await states(), ["firing", "firing"], "without a cooldown each call fires");
    const { status, body } = await ackOf(world, "a planned run");
    assert.equal(status, 200);
    assert.deepEqual([body.state, body.note, body.acknowledged_at], [
      "acknowledged",
      "a planned run",
      "2026-11-01T12:00:00.000Z",
    ]);
    const again = await ackOf(world);
    assert.deepEqual([again.status, again.body.code], [409, "conflict"]);
    assert.match(again.body.detail, /it is acknowledged .*already$/);
    await spend(5);
    assert.deepEqual(await states(), ["acknowledged", "acknowledged"]);
    assert.deepEqual(titles(pager), ["Limit", "Limit", "Acknowledged"]);
    assert.deepEqual(pager.sent.at(-1)!.notification.facts[0], { label: "Note", value: "a planned run" });
    purser.clock.advance(DAY_MS);
    await spend(1);
    assert.deepEqual(await states(), ["resolved", "resolved", "firing"]);
    assert.deepEqual(titles(mail), ["Limit", "Limit", "Limit"], "told only that alerts fire");
  });

  test("an alert is resolved once when its day ends, by one of two instances, for the newest of its repetitions", async (world) => {
    const { purser, spend, states, follow, pager, mail } = world;
    await purser.api("POST", "/alerts/rules", { ...RULE, threshold_type: "per_day_usd" });
    await spend(1);
    await spend(1);
    await follow();
    assert.deepEqual(await states(), ["firing", "firing"]);
    purser.clock.advance(DAY_MS / 2);
    assert.deepEqual(await states(), ["resolved", "resolved"], "also before an instance has noticed");
    await follow();
    await follow();
    const [first, second, resolved, ...more] = pager.sent.map(({ notification }) => notification);
    assert.deepEqual(more, []);
    assert.deepEqual([first!.type, second!.type, resolved!.type], [
      "alert.triggered",
      "alert.triggered",
      "alert.resolved",
    ]);
    assert.equal(new Set([first!.incident, second!.incident, resolved!.incident]).size, 1);
    assert.deepEqual([resolved!.severity, resolved!.at], ["info", "2026-11-02T00:00:00.000Z"]);
    assert.match(resolved!.title, /^Resolved: Limit: \$2 /);
    assert.equal(mail.sent.length, 2);
    const { body: [alert] } = await purser.api("GET", "/alerts/history?limit=1");
    assert.deepEqual(
      alert.deliveries.map(({ channel, event }: { channel: string; event?: string }) => [channel, event]),
      [["log", undefined], ["pager", undefined], ["mail", undefined], ["pager", "resolved"]],
    );
  });

  test("an acknowledged alert of the hour is repeated only after its spending has fallen below the threshold", async (world) => {
    const { purser, spend, states, follow, pager, titles } = world;
    await purser.api("POST", "/alerts/rules", { ...RULE, threshold_type: "per_hour_usd" });
    await spend(1);
    await ackOf(world);
    await spend(1);
    await follow();
    assert.deepEqual(await states(), ["acknowledged"]);
    purser.clock.advance(HOUR_MS);
    await follow();
    assert.deepEqual(await states(), ["resolved"]);
    assert.deepEqual(titles(pager), ["Limit", "Acknowledged", "Resolved"]);
    await spend(0.5);
    assert.deepEqual(await states(), ["resolved"]);
    await spend(0.5);
    assert.deepEqual(await states(), ["resolved", "firing"]);
  });

  test("a counter of a rule for each tag is acknowledged by itself", async (world) => {
    const { purser, spend, states } = world;
    const rule = { ...RULE, threshold_type: "per_hour_usd", each: "tag:customer" };
    await purser.api("POST", "/alerts/rules", rule);
    await spend(1, { tags: { customer: "acme" } });
    await ackOf(world);
    await spend(1, { tags: { customer: "acme" } });
    await spend(1, { tags: { customer: "bolt" } });
    assert.deepEqual(await states(), ["acknowledged", "firing"]);
  });

  test("the warning of a budget is resolved when the budget is raised, and a rule's when it is raised, disabled or removed", async (world) => {
    const { purser, spend, states, follow } = world;
    const budget = { name: "Day", limit_usd: 10, per: "day", action: "watch", warn_at: [0.5] };
    const at = (await purser.api("POST", "/budgets", budget)).headers.get("location")!;
    const rules: string[] = [];
    for (const name of ["a", "b", "c"]) {
      const rule = { ...RULE, name, threshold_type: "per_month_usd", threshold_usd: 5 };
      rules.push((await purser.api("POST", "/alerts/rules", rule)).headers.get("location")!);
    }
    await spend(6);
    await follow();
    assert.deepEqual(await states(), ["firing", "firing", "firing", "firing"]);
    await purser.api("POST", `${at}/raises`, { extra_usd: 1 });
    await follow();
    assert.equal(
      (await states()).filter((state) => state === "resolved").length,
      0,
      "6 of 11 is half and more",
    );
    await purser.api("POST", `${at}/raises`, { extra_usd: 2 });
    await purser.api("PATCH", rules[0]!, { threshold_usd: 7 });
    await purser.api("PATCH", rules[1]!, { enabled: false });
    await follow();
    assert.deepEqual((await states()).filter((state) => state === "firing").length, 1);
    await purser.api("DELETE", rules[2]!);
    await follow();
    assert.deepEqual(await states(), ["resolved", "resolved", "resolved", "resolved"]);
  });

  test("nothing is told before the alert itself was delivered", async (world) => {
    const { purser, spend, follow, pager, titles } = world;
    await purser.api("POST", "/alerts/rules", { ...RULE, threshold_type: "per_run_usd" });
    pager.answers = [passing, passing, { ok: true }];
    await spend(1, { run_id: "r1", session_id: "s1" });
    purser.clock.advance(DAY_MS);
    await follow();
    purser.clock.advance(HOUR_MS);
    await follow();
    assert.deepEqual(titles(pager), ["Limit", "Limit", "Limit"]);
    await follow();
    assert.deepEqual(titles(pager), ["Limit", "Limit", "Limit", "Resolved"]);
  });
}
