import assert from "node:assert/strict";
import type { Notification } from "../src/delivery/channels/mod.ts";
import { openTestBooks } from "./harness/test_books.ts";
import { replaceChannels } from "./harness/fake_channels.ts";
import { DAILY, fireRules } from "./harness/fired_rules.ts";

/** Commands that send: tests of rules, alerts once more, and the state of the channels. */

Deno.test("a test prints a line for each channel, and fails if any failed", async () => {
  await using books = await openTestBooks();
  await books.purser(`alerts add --name "Daily limit" ${DAILY} --disabled`);
  const ruleId = String(
    (await books.core.store.read({ sql: "SELECT rule_id FROM alert_rules" })).rows[0]![0],
  );
  const test = (line: string) => books.purser(line);

  replaceChannels(books.core, { log: "ok", ops: "ok" });
  assert.deepEqual(await test(`alerts test ${ruleId}`), {
    code: 0,
    out: `CHANNEL  KIND    RESULT     TIME
log      log     delivered  0 ms
ops      custom  delivered  0 ms
`,
    err: "",
  });
  replaceChannels(books.core, { log: "ok", ops: { reason: "HTTP 403" } });
  assert.deepEqual(await test(`alerts test ${ruleId}`), {
    code: 1,
    out: `CHANNEL  KIND    RESULT     TIME  REASON
log      log     delivered  0 ms
ops      custom  failed     0 ms  HTTP 403
`,
    err: "",
  });
  const some = await test(`alerts test ${ruleId} --json`);
  assert.deepEqual([some.code, JSON.parse(some.out).results.length], [1, 2]);
  assert.deepEqual(await test("channels test ops"), {
    code: 1,
    out: `CHANNEL  KIND    RESULT  TIME  REASON
ops      custom  failed  0 ms  HTTP 403
`,
    err: "",
  });
  assert.equal((await test("channels test log")).code, 0);
  replaceChannels(books.core, { log: { reason: "disk full" } });
  const none = await test(`alerts test ${ruleId} --json`);
  assert.deepEqual([none.code, none.err], [1, ""]);
  assert.equal(JSON.parse(none.out).results[0].error, "disk full");
});

Deno.test("an alert is sent once more, by deliveries of its own, to the channels that take its severity", async () => {
  await using books = await openTestBooks();
  await fireRules(books);
  const { rows } = await books.core.store.read({
    sql: "SELECT alert_id FROM alerts WHERE severity = 'critical'",
  });
  const alertId = String(rows[0]![0]);
  const sent: Notification[] = [];
  const deliveriesOf = async () => {
    const history = JSON.parse((await books.purser("alerts history --json")).out);
    const { deliveries } = history.find((alert: { alert_id: string }) => alert.alert_id === alertId);
    return deliveries.map((each: Record<string, unknown>) => [each.delivery_id, each.channel, each.status]);
  };
  replaceChannels(books.core, {
    log: "ok",
    ops: { sent },
    mail: { reason: "535 Authentication failed" },
  });
  const before = await deliveriesOf();
  const lastFired = (await books.purser("alerts list --json")).out;
  assert.deepEqual(await books.purser(`alerts resend ${alertId}`), {
    code: 1,
    out: `CHANNEL  KIND    RESULT     TIME  REASON
log      log     delivered  0 ms
ops      custom  delivered  0 ms
mail     custom  failed     0 ms  535 Authentication failed
`,
    err: "",
  });
  assert.deepEqual(sent.map(({ id, type, isTest }) => [id, type, isTest]), [
    [alertId, "alert.triggered", false],
  ]);
  const suffix = alertId.slice("alert_".length);
  const number = before.length + 1;
  assert.deepEqual((await deliveriesOf()).slice(before.length), [
    [`dlv_${suffix}_${number}`, "log", "delivered"],
    [`dlv_${suffix}_${number + 1}`, "ops", "delivered"],
    [`dlv_${suffix}_${number + 2}`, "mail", "failed"],
  ]);
  // Two at once have deliveries of their own.
  const both = await Promise.all([1, 2].map(() => books.purser(`alerts resend ${alertId} --json`)));
  const ids = both.flatMap(({ out }) =>
    JSON.parse(out).results.map((each: { delivery_id: string }) => each.delivery_id)
  );
  assert.equal(new Set(ids).size, 6);
  const all = (await deliveriesOf()).map(([id]: string[]) => id);
  assert.deepEqual(new Set(ids), new Set(all.slice(-6)));
  // The rule has not fired again.
  assert.equal((await books.purser("alerts list --json")).out, lastFired);

  await books.core.store.write([{ sql: "UPDATE alerts SET severity = 'info'" }]);
  const none = await books.purser(`alerts resend ${alertId}`);
  assert.deepEqual([none.code, none.out], [1, ""]);
  assert.match(none.err, /^error: Cannot send alert alert_\w+: no channel takes the severity info\n$/);
});

Deno.test("channels list shows each channel and its problem", async () => {
  await using books = await openTestBooks();
  const channel = { minSeverity: "info", timeoutMs: 10_000, check: () => Promise.resolve(undefined) };
  Object.assign(books.core, {
    channels: {
      list: [
        { ...channel, name: "log", kind: "log", describe: () => Promise.resolve({}) },
        {
          ...channel,
          name: "ops",
          kind: "webhook",
          minSeverity: "critical",
          timeoutMs: 2_500,
          check: () => Promise.resolve("url: is not a URL"),
          describe: () => Promise.resolve({ url: "***", headers: { "x-team": "a\u001bb" } }),
        },
      ],
    },
  });
  assert.deepEqual(await books.purser("channels list"), {
    code: 0,
    out: `NAME  KIND     STATUS   MIN SEVERITY  TIMEOUT  SETTINGS
log   log      ok       info             10 s
ops   webhook  invalid  critical        2.5 s  url=***, headers={"x-team":"a\\u001bb"}
`,
    err: "warning: Channel ops can't be used: url: is not a URL\n",
  });
  assert.match(
    (await books.purser("channels list --json")).out,
    /^\[\{"name":"log",.*"status":"invalid",.*\}\]\n$/,
  );
});
