import { DEFAULT_COOLDOWN_SECONDS } from "../src/contract/limits.ts";
import { THRESHOLD_TYPES } from "../src/contract/values.ts";
import assert from "node:assert/strict";
import { builtInChannels } from "../plugins/mod.ts";
import { DELIVERY_LEASE_MS } from "../src/delivery/claim_delivery.ts";
import { createDispatcher } from "../src/alerts/mod.ts";
import { MAX_ALERT_HISTORY } from "../src/contract/limits.ts";
import { RETRY_WAITS_MS } from "../src/delivery/retry_policy.ts";
import { createChannels, type Notification } from "../src/delivery/channels/mod.ts";
import { HOUR_MS, MINUTE_MS, systemClock } from "../src/kernel/clock.ts";
import { loadConfig } from "../src/config/mod.ts";
import { silentLog } from "../src/kernel/log.ts";
import { RUN_LEASE_MS } from "../src/sessions/mod.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { blocks, readDocument, runExample, runLines } from "./harness/documents.ts";

/** Executes what the documents say on alerts and channels. */

Deno.test("the quick start on alerts works as it is written: a rule fires, and every test is delivered", () =>
  inDirectory(async (directory) => {
    const text = blocks(await readDocument("docs/alerts.md"), "sh", "Quick start").join("");
    const lines = text.trim().split("\n");
    const first = lines.indexOf("purser channels list");
    const output = await runLines(lines.slice(0, first), directory);
    assert.match(output, /^Added rule rule_\w+ First cents: warning at \$0\.00001 in a day of all agents/m);
    assert.match(
      output,
      /warning {3}firing {2}First cents +\$0\.0000\d+ of \$0\.00001 +helper +alert_\w+ +log ok$/m,
    );
    assert.equal((await runLines(lines.slice(first), directory)).match(/^log +log +delivered/gm)!.length, 2);
  }));

Deno.test("the README's commands on alerts work as they are written", () =>
  inDirectory(async (directory) => {
    const lines = blocks(await readDocument("README.md"), "sh", "Alerts").join("").trim().split("\n");
    assert.match(await runLines(lines, directory), /Daily limit .*\n[^]*database +local file/);
  }));

Deno.test("the channels of docs/alerts.md are valid as they are written", () =>
  inDirectory(async (directory) => {
    const [text] = blocks(await readDocument("docs/alerts.md"), "jsonc");
    const { channels, allowPrivateNetworks } = await loadConfig({
      env: {
        PURSER_CONFIG: `${directory}/purser.json`,
        PURSER_DB: ":memory:",
        OPS_SECRET: SECRET,
        MAIL_PASSWORD: "secret",
      },
      readTextFile: () => Promise.resolve(text!),
    });
    await Deno.writeTextFile(`${directory}/slack_url`, "https://hooks.slack.com/services/T0/B0/abc\n");
    const open = createChannels({
      channels,
      plugins: builtInChannels,
      allowPrivateNetworks,
      log: silentLog,
      clock: systemClock,
    });
    assert.deepEqual(open.list.map(({ name }) => name), ["log", "ops", "slack", "mail"]);
    for (const channel of open.list) assert.equal(await channel.check(), undefined, channel.name);
  }));

Deno.test("the library example on alerts reports a run", () =>
  inDirectory(async (directory) => {
    const [code] = blocks(await readDocument("docs/alerts.md"), "ts", "In a program");
    const result = await runExample(code!, directory);
    assert.match(
      result.out,
      /^Costly run: \$0\.0000\d+ spent in one run, threshold \$0\.00001\n$/,
    );
  }));

const SECRET = `whsec_${btoa("a secret of 24 bytes or more")}`;

Deno.test("the documented check of a signature accepts what a webhook sends, and nothing else", () =>
  inDirectory(async (directory) => {
    const [code] = blocks(await readDocument("docs/alerts.md"), "ts", "Channels");
    await Deno.writeTextFile(`${directory}/check.ts`, code!);
    const { isFromPurser } = await import(`file://${directory}/check.ts`);
    const checked: boolean[] = [];
    await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
      const body = await request.text();
      const headers = request.headers;
      const changed = (name: string, value: string) => {
        const copy = new Headers(headers);
        copy.set(name, value);
        return copy;
      };
      const signature = headers.get("webhook-signature")!;
      checked.push(
        isFromPurser(headers, body, SECRET),
        isFromPurser(changed("webhook-signature", `v1,AAAA ${signature}`), body, SECRET),
        isFromPurser(headers, body + " ", SECRET),
        isFromPurser(headers, body, `whsec_${btoa("another secret, just as long")}`),
        isFromPurser(changed("webhook-id", "dlv_2"), body, SECRET),
        isFromPurser(changed("webhook-timestamp", String(Math.floor(Date.now() / 1000) - 301)), body, SECRET),
        isFromPurser(changed("webhook-timestamp", "soon"), body, SECRET),
        isFromPurser(new Headers(), body, SECRET),
      );
      return new Response();
    });
    const url = `http://127.0.0.1:${server.addr.port}/`;
    const { channels } = createDispatcher([{ kind: "webhook", url, secret: SECRET }]);
    const open = createChannels({
      channels,
      plugins: builtInChannels,
      allowPrivateNetworks: ["127.0.0.0/8"],
      log: silentLog,
      clock: systemClock,
    });
    const notification: Notification = {
      id: "alert_1",
      type: "alert.triggered",
      isTest: false,
      severity: "warning",
      title: "Daily limit: $12 spent today (UTC), threshold $10 – ✓",
      facts: [],
      at: "2026-11-21T09:30:00.000Z",
      environment: "test",
      data: {},
    };
    const result = await open.get("webhook")!.attempt(notification, {
      deliveryId: "dlv_1",
      attempt: 1,
      signal: AbortSignal.timeout(30_000),
    });
    assert.deepEqual(result, { ok: true });
    assert.deepEqual(checked, [true, true, false, false, false, false, false, false]);
  }));

Deno.test("the figures in docs/alerts.md are those of the code", async () => {
  const document = (await readDocument("docs/alerts.md")).replaceAll(/\s+/g, " ");
  const spell = (ms: number) =>
    ms < MINUTE_MS ? `${ms / 1000} s` : ms < HOUR_MS ? `${ms / MINUTE_MS} min` : `${ms / HOUR_MS} h`;
  const waits = RETRY_WAITS_MS.map(spell);
  assert.ok(document.includes(`after ${waits.slice(0, -1).join(", ")} and ${waits.at(-1)}, each wait`));
  const hours = RETRY_WAITS_MS.reduce((sum, wait) => sum + wait, 0) / HOUR_MS;
  assert.ok(document.includes(`some ${Math.ceil(hours)} hours (at most about ${Math.floor(hours * 1.2)})`));
  assert.ok(document.includes(`the newest ${MAX_ALERT_HISTORY} alerts`));
  assert.ok(document.includes(`default ${DEFAULT_COOLDOWN_SECONDS}, 0 for none`));
  for (const type of THRESHOLD_TYPES) assert.ok(document.includes(`| \`${type}\` `), type);
  const operating = await readDocument("docs/operating.md");
  assert.ok(operating.includes(`leased for ${DELIVERY_LEASE_MS / 1000} s`));
  assert.ok(operating.includes(`a lease of ${RUN_LEASE_MS / 1000} s`));
});
