import assert from "node:assert/strict";
import { createAlertEvaluator, createDispatcher } from "../../src/mod.ts";
import { changeAddress, expectAccessible } from "../harness/browser.ts";
import { type TestDashboard, testDashboard } from "../harness/dashboard.ts";
import { permanent, recordingChannel } from "../harness/recording_channel.ts";
import { downloaded } from "./_downloads.ts";
import { bookCalls, call, dataRequests, openAt, rowsOf, statOf } from "./_money.ts";

/** Alert rules and the alerts that they fired, in a browser: why each one fired. */

const ops = recordingChannel("ops");
const mail = recordingChannel("mail", { answers: [permanent] });
const alerts = createAlertEvaluator({ rules: [], dispatcher: createDispatcher([ops, mail]) });

const HOSTILE = "Day \u202e<b>limit</b>";
const HOSTILE_SHOWN = "Day \\u202e<b>limit</b>";

const rules: Record<string, string> = {};

async function addRule(
  { purser }: TestDashboard,
  name: string,
  type: string,
  usd: number,
  more: object = {},
) {
  const rule = { name, threshold_type: type, threshold_usd: usd, severity: "critical", ...more };
  const { status, body } = await purser.api("POST", "/alerts/rules", rule);
  assert.equal(status, 201);
  rules[name] = body.rule_id;
}

/** Waits until both channels have answered to every alert. */
async function settled({ purser }: TestDashboard): Promise<{ alert_id: string; rule_name: string }[]> {
  for (let attempt = 0; attempt < 400; attempt++) {
    const { body } = await purser.api("GET", "/alerts/history");
    const pending = body.flatMap((alert: { deliveries: { status: string }[] }) => alert.deliveries)
      .filter(({ status }: { status: string }) => status === "pending");
    if (body.length > 0 && pending.length === 0) return body;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.fail("the channels have not answered");
}

testDashboard("alerts", { alerts }, {
  async "teach the command where none has fired"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/budgets/alerts");
    await opened.page.getByText("No alert has fired").waitFor();
    await opened.page.getByText('purser alerts test "Daily limit"').waitFor();
    await expectAccessible(opened.page);
  },

  async "show rules with their value, threshold and window"(dashboard) {
    await bookCalls(dashboard.purser);
    await addRule(dashboard, HOSTILE, "per_day_usd", 2.5, { cooldown_seconds: 0 });
    await addRule(dashboard, "Hour", "per_hour_usd", 3.5, { severity: "info", agent_id: "researcher" });
    await using opened = await openAt(dashboard, "/ui/budgets");
    const rows = await rowsOf(opened.page, "Alert rules");
    assert.deepEqual(rows.map((row) => row.replaceAll(/\s+/g, " ")), [
      `${HOSTILE_SHOWN} Nearcritical, all agents, UTC day | $2.00 of $2.5080% | in 17 min12:17 UTC, at $1.75/h | ` +
      "in 12 h | never | TestDisable",
      "Hour OKinfo, agent researcher, last 60 minutes | $1.25 of $3.5036% | in 18 min12:18 UTC, at $7.50/h | " +
      "rolling | never | TestDisable",
    ]);
    assert.equal(await opened.page.locator("main b").count(), 0);
  },

  async "show rules that are disabled and enabled again, after a confirmation"(dashboard) {
    const { purser } = dashboard;
    await using opened = await openAt(dashboard, `/ui/budgets/rules/${rules.Hour}`);
    const { page } = opened;
    const isEnabled = async () => (await purser.api("GET", `/alerts/rules/${rules.Hour}`)).body.enabled;
    for (
      const [label, done, enabled] of [["Disable", "Disabled", false], ["Enable", "Enabled", true]] as const
    ) {
      await page.getByRole("button", { name: label }).press("Enter");
      const dialog = page.getByRole("dialog", { name: label });
      assert.equal(await isEnabled(), !enabled, "not before the confirmation");
      await dialog.getByRole("button", { name: label }).click();
      await page.getByText(`${done} the rule Hour`).waitFor();
      assert.equal(await isEnabled(), enabled);
    }
    assert.equal(await statOf(page, "Value"), "$1.25 | agent researcher");
    assert.equal(await statOf(page, "Threshold"), "$3.50 | last 60 minutes");
    await expectAccessible(page);
  },

  async "are tested through every channel, and say which did not deliver"(dashboard) {
    await using opened = await openAt(dashboard, `/ui/budgets/rules/${rules.Hour}`);
    const { page } = opened;
    await page.getByRole("button", { name: "Test" }).click();
    await page.getByRole("dialog", { name: "Test" }).getByRole("button", { name: "Test" }).click();
    await page.getByText("Tested the rule Hour: 2 channels delivered it, not mail").waitFor();
    const [row] = await rowsOf(page, "Alerts of the rule");
    assert.match(row!, /^just now test \| info /);
    await page.getByRole("link", { name: "just now" }).click();
    await page.getByText("This is a test of the rule.", { exact: false }).waitFor();
    await expectAccessible(page);
  },

  async "say why they fired: the window, the value, and what moved it"(dashboard) {
    const { purser } = dashboard;
    const { status } = await purser.api("POST", "/costs/events", [
      call("9", "2026-11-01T11:59:00.000Z", "researcher", 1, { session_id: "ses_night" }),
    ]);
    assert.equal(status, 201);
    const alert = (await settled(dashboard)).find(({ rule_name }) => rule_name === HOSTILE)!;
    await using opened = await openAt(dashboard, `/ui/budgets/alerts/${alert.alert_id}`);
    const { page } = opened;
    await page.getByRole("heading", { name: `Alert: ${HOSTILE_SHOWN}` }).waitFor();
    await page.getByText(
      "$3.00 in the window (UTC day) has reached the threshold of $2.50. 50% of it is session ses_researcher.",
    ).waitFor();
    assert.equal(await statOf(page, "Value"), "$3.00 | spent in the window");
    assert.equal(await statOf(page, "Window"), "UTC day | from 2026-11-01 00:00 UTC");
    assert.deepEqual(await rowsOf(page, "Sessions in the window"), [
      "ses_researcherresearcher, gpt-5, last call 2026-11-01 11:55 UTC | 50% | 2 | $1.50",
      "ses_nightresearcher, gpt-5, last call 2026-11-01 11:59 UTC | 33% | 1 | $1.00",
      "ses_supportsupport, house-7b, last call 2026-11-01 11:58 UTC | 17% | 21 without a price | $0.50",
    ]);
    assert.deepEqual(await rowsOf(page, "Models in the window"), [
      "openai:gpt-5 | 92% | 3 | $2.75",
      "anthropic:claude-5 | 8% | 1 | $0.25",
      "acme:house-7b | – | 1 | no price",
    ]);
    assert.deepEqual(await rowsOf(page, "Agents in the window"), [
      "researcher | 83% | 3 | $2.50",
      "support | 17% | 21 without a price | $0.50",
    ]);
    const note = page.locator(".number .sub").first();
    assert.equal(await note.evaluate((element) => getComputedStyle(element).whiteSpace), "normal");
    assert.deepEqual(await rowsOf(page, "Deliveries"), [
      "log log | delivered | 1 | just now | none",
      "ops custom | delivered | 1 | just now | none",
      "mail custom | failed | 1 | not yet | HTTP 410",
    ]);
    assert.deepEqual(dataRequests(opened), [`GET /alerts/history/${alert.alert_id}`]);
    const links = await page.getByRole("region", { name: "Models in the window" }).getByRole("link")
      .evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    assert.ok(
      links.some((href) => /^\/ui\/costs\?provider=openai&model=gpt-5&from=2026-11-01/.test(href!)),
      links.join(),
    );
    await expectAccessible(page);
  },

  async "are sent again, and say what that did"(dashboard) {
    const [alert] = await settled(dashboard);
    const before = ops.sent.length;
    await using opened = await openAt(dashboard, `/ui/budgets/alerts/${alert!.alert_id}`);
    const { page } = opened;
    await page.getByRole("button", { name: "Send again" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Send again" }).click();
    await page.getByText("Sent the alert again: 2 channels delivered it, not mail").waitFor();
    assert.equal(ops.sent.length, before + 1);
  },

  async "are listed with the earlier ones of their rule, and filtered in the URL"(dashboard) {
    await dashboard.purser.api("POST", "/costs/events", [
      call("10", "2026-11-01T12:00:00.000Z", "researcher", 0.5, { session_id: "ses_night" }),
    ]);
    await settled(dashboard);
    await using opened = await openAt(dashboard, "/ui/budgets/alerts");
    const { page } = opened;
    assert.equal((await rowsOf(page, "Alerts")).length, 3);
    await page.getByRole("link", { name: "Critical" }).click();
    const rows = await rowsOf(page, "Alerts");
    assert.deepEqual(rows, [
      `just now firing | ${HOSTILE_SHOWN} | critical | $3.50 | $2.50UTC day | researcher | ses_night | 2 of 3`,
      `just now firing | ${HOSTILE_SHOWN} | critical | $3.00 | $2.50UTC day | researcher | ses_night | 4 of 6`,
    ]);
    assert.match(page.url(), /\?severity=critical$/);
    await expectAccessible(page);
    await page.getByRole("region", { name: "Alerts", exact: true }).getByRole("link", { name: "just now" })
      .first()
      .click();
    assert.deepEqual((await rowsOf(page, "Earlier alerts")).map((row) => row.split(" | ")[2]), ["$3.00"]);
  },

  async "download what moved them, where no cell is a formula"(dashboard) {
    const event = call("11", "2026-11-01T12:00:00.000Z", "researcher", 0.000001, { model: "=1+1" });
    assert.equal((await dashboard.purser.api("POST", "/costs/events", [event])).status, 201);
    const [alert] = await settled(dashboard);
    await using opened = await openAt(dashboard, `/ui/budgets/alerts/${alert!.alert_id}`);
    const table = "Models in the window";
    const [head, ...rows] = (await downloaded(opened.page, "CSV", table)).trim().split("\r\n");
    assert.match(head!, /^provider,model,model_calls,/);
    const cells = rows.find((row) => row.startsWith("openai,'=1+1,1,"))!.split(",");
    assert.equal(cells[head!.split(",").indexOf("cost_usd")], "0.000001");
    const { body } = await dashboard.purser.api("GET", `/alerts/history/${alert!.alert_id}`);
    assert.deepEqual(JSON.parse(await downloaded(opened.page, "JSON", table)), body.causes.models);
  },

  async "of a budget of nothing have no share, and a long name has lines"(dashboard) {
    const { purser } = dashboard;
    const name = "N".repeat(100);
    const budget = { name, limit_usd: 0, per: "day", agent_id: "researcher", action: "watch" };
    const { body } = await purser.api("POST", "/budgets", budget);
    const reported = await purser.api("POST", "/costs/events", [
      call("12", "2026-11-01T11:59:30.000Z", "researcher", 0.5),
    ]);
    assert.equal(reported.status, 201);
    const alert = (await settled(dashboard)).find(({ rule_name }) => rule_name === name)!;
    await using opened = await openAt(dashboard, `/ui/budgets/alerts/${alert.alert_id}`);
    await opened.page.getByRole("heading", { name: `Alert: ${name}` }).waitFor();
    assert.equal(await statOf(opened.page, "Threshold"), "$0 | the limit $0");
    await expectAccessible(opened.page);
    await changeAddress(opened.page, `/ui/budgets/${body.budget_id}`);
    await opened.page.getByRole("heading", { name: `Budget: ${name}` }).waitFor();
    await expectAccessible(opened.page);
    await changeAddress(opened.page, "/ui/");
    await opened.page.getByRole("listitem").getByRole("link", { name }).first().waitFor();
    await expectAccessible(opened.page);
  },

  async "about a plan have percentages, and name its window"(dashboard) {
    const { purser } = dashboard;
    const rule = { name: "Plan", threshold_type: "plan_window_pct", threshold_pct: 80, severity: "warning" };
    const { body: { rule_id } } = await purser.api("POST", "/alerts/rules", rule);
    const ofBills = { name: "Bill", threshold_type: "unexplained_above", threshold_usd: 5, severity: "info" };
    const { body: bill } = await purser.api("POST", "/alerts/rules", ofBills);
    const now = purser.clock.now();
    const windows = [{
      window: "five_hour",
      used_pct: 82,
      length_minutes: 300,
      resets_at: new Date(now + 7_200_000).toISOString(),
      measured_at: new Date(now).toISOString(),
    }];
    await purser.api("POST", "/plans", { agent_id: "codex", source: "log", machine: "laptop", windows });
    const alert = (await settled(dashboard)).find(({ rule_name }) => rule_name === "Plan")!;
    await using opened = await openAt(dashboard, `/ui/budgets/alerts/${alert.alert_id}`);
    const { page } = opened;
    await page.getByText(
      /^82% of the five_hour window of the codex plan is used, the threshold is 80%\. It resets at /,
    )
      .waitFor();
    assert.equal(await statOf(page, "Value"), "82% | used of the window");
    assert.equal(await statOf(page, "Threshold"), "80% | five_hour window of the codex plan");
    await expectAccessible(page);
    await changeAddress(page, "/ui/budgets");
    await page.getByText("Plans at 80%").getByRole("link", { name: "Plan" }).click();
    await page.waitForURL(new RegExp(`/ui/budgets/rules/${rule_id}$`));
    await page.getByText("82% is used of the fullest window of any plan; it fires at 80%, once per window.")
      .waitFor();
    await expectAccessible(page);
    await changeAddress(page, "/ui/budgets");
    await page.getByText("Unexplained above $5").getByRole("link", { name: "Bill" }).click();
    await page.waitForURL(new RegExp(`/ui/budgets/rules/${bill.rule_id}$`));
    await page.getByText(/^Unexplained above \$5[.0]*; now unknown$/).waitFor();
    await changeAddress(page, "/ui/");
    await page.getByText("82% of 80%").first().waitFor();
  },

  async "are acknowledged with a note, which the page then shows"(dashboard) {
    const [alert] = await settled(dashboard);
    await using opened = await openAt(dashboard, `/ui/budgets/alerts/${alert!.alert_id}`);
    const { page } = opened;
    await page.getByRole("button", { name: "Acknowledge" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Note").fill("<b>a planned run</b>");
    await dialog.getByRole("button", { name: "Acknowledge" }).click();
    await page.getByText("Acknowledged the alert").waitFor();
    await page.getByText("<b>a planned run</b>").waitFor();
    assert.equal(await page.getByRole("button", { name: "Acknowledge" }).count(), 0);
    await expectAccessible(page);
  },

  async "that the history no longer has are not found, and say so"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/budgets/alerts/alert_missing");
    await opened.page.getByText("No alert has this address").waitFor();
    await changeAddress(opened.page, "/ui/budgets/rules/rule_missing");
    await opened.page.getByText("No rule has this address").waitFor();
    await changeAddress(opened.page, "/ui/budgets/bud_missing");
    await opened.page.getByText("No budget has this address").waitFor();
    await expectAccessible(opened.page);
  },
});
