import assert from "node:assert/strict";
import type { Page } from "#dev/playwright_core.ts";
import { testDashboard } from "../harness/dashboard.ts";
import { changeAddress, type TestPage } from "../harness/browser.ts";
import { isThorough } from "../harness/thorough.ts";
import { bookCalls, call, openAt, statOf } from "./_money.ts";

/**
 * Every amount that is a link leads to a page whose figure is the same amount. The gate follows one of each kind of address, from
 * the pages that have one.
 */

/** A page of the dashboard without an amount. */
const NO_AMOUNTS = "/ui/none";

/** Opens a page from one without an amount, so that no figure is that of the page before. */
async function goTo(page: Page, path: string): Promise<void> {
  const heading = page.locator("main h1");
  await changeAddress(page, NO_AMOUNTS);
  await heading.filter({ hasText: "Not found" }).waitFor();
  await changeAddress(page, path);
  await heading.filter({ hasNotText: "Not found" }).waitFor();
}

interface LinkedAmount {
  href: string;
  usd: string;
}

/** Returns the amounts on the page that are links, each address with each amount once. */
async function linkedAmounts(page: Page): Promise<LinkedAmount[]> {
  await page.waitForFunction(() => document.querySelector("main") && !document.querySelector(".skeleton"));
  const all = await page.locator("main a:has(data)").evaluateAll((links) =>
    links.map((link) => ({
      href: link.getAttribute("href")!,
      usd: link.querySelector("data")!.getAttribute("value")!,
    }))
  );
  return [...new Map(all.map((linked) => [linked.href + linked.usd, linked])).values()];
}

/** Returns the amounts that a page is about: its figures, those of its runs, or that of the call that it opens. */
async function figuresOf(page: Page, href: string): Promise<string[]> {
  await page.waitForFunction(() => document.querySelector(".stat-value data, .figures dd"));
  if (href.includes("call=")) {
    await page.locator(".figures dd").first().waitFor();
    return (await page.locator(".figures dd").allTextContents()).map((text) => text.replace("$", ""));
  }
  const figures = href.includes("tab=runs")
    ? page.getByRole("region", { name: "Runs of the session" }).locator("tbody data")
    : page.locator(".stat-value data");
  await figures.first().waitFor();
  const values = await figures.evaluateAll((all) => all.map((one) => one.getAttribute("value")!));
  return /\/costs\/caching|tab=runs/.test(href) ? values : values.slice(0, 1);
}

/** Returns what a thorough run tries besides. */
const thorough = <Value>(...values: Value[]) => isThorough ? values : [];

const followed = new Set<string>();
/** The kinds of addresses that were followed. */
const kinds = new Set<string>();

/** Returns the kind of an address: its path without ids, and the names of its parameters. */
function kindOf(href: string): string {
  return href.replaceAll(/=[^&]*/g, "").replaceAll(/\/[a-z]+_[^/?]+/g, "");
}

/** Follows the linked amounts of a page. Returns the addresses that they lead to. */
async function follow({ page }: TestPage, path: string): Promise<string[]> {
  await goTo(page, path);
  const linked = await linkedAmounts(page);
  for (const { href, usd } of linked) {
    const kind = kindOf(href);
    if (followed.has(href + usd) || !isThorough && kinds.has(kind)) continue;
    kinds.add(kind);
    followed.add(href + usd);
    await goTo(page, href);
    assert.ok((await figuresOf(page, href)).includes(usd), `${usd} on ${path} leads to ${href}`);
  }
  return linked.map(({ href }) => href);
}

const ids: Record<string, string> = {};

testDashboard("an amount leads to the same amount", {}, {
  async "once there are calls, budgets, rules and alerts"(dashboard) {
    const { purser } = dashboard;
    const post = async (path: string, body: unknown) => {
      const answer = await purser.api("POST", path, body);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return answer.body;
    };
    const budget = async (name: string, more: object) =>
      ids[name] =
        (await post("/budgets", { name, limit_usd: 40, per: "day", warn_at: [0.01], ...more })).budget_id;
    const rule = async (name: string, type: string, usd: number, more: object = {}) => {
      const body = { name, threshold_type: type, threshold_usd: usd, severity: "info", ...more };
      ids[name] = (await post("/alerts/rules", body)).rule_id;
    };
    await budget("all", {});
    await budget("agent", { per: "month", agent_id: "researcher" });
    await budget("hour", { per: "hour" });
    await budget("agents", { each: "agent" });
    await budget("sessions", { per: "session" });
    await budget("sessions of a day", { each: "session" });
    await budget("runs", { per: "run" });
    await rule("an hour", "per_hour_usd", 1);
    await rule("a month of support", "per_month_usd", 0.4, { agent_id: "support" });
    await rule("a session", "per_session_usd", 1);
    await rule("a run", "per_run_usd", 0.0000001, { agent_id: "looper" });
    await bookCalls(purser);
    await post("/costs/events", [
      // In the first minute of the window of an hour, one millisecond too early for it, and too late for the alerts.
      call("edge", "2026-11-01T11:00:00.000Z", "coder", 8),
      call("late", "2026-11-01T11:57:00.000Z", "coder", 0.125, { session_id: "ses_support" }),
    ]);
    await purser.api("PUT", "/agents/looper", { model: "demo:loop", tools: ["calculator"] });
    for (const input of ["2 times", "3 times"]) {
      const { status } = await purser.api("POST", "/agents/looper/runs", { input, session_id: "ses_looper" });
      assert.equal(status, 200);
    }
  },

  async "from the home page, in each span and group"(dashboard) {
    await using opened = await openAt(dashboard, NO_AMOUNTS);
    for (const query of ["", "?span=all", ...thorough("?by=agent", "?span=7d&by=agent", "?span=month")]) {
      assert.ok((await follow(opened, `/ui/${query}`)).length > 4, query);
    }
  },

  async "from the costs, in each group, in hours and days, and within other filters"(dashboard) {
    await using opened = await openAt(dashboard, NO_AMOUNTS);
    const groups = ["model", "agent", "provider", ...thorough("session", "run", "key", "day", "hour")];
    for (const by of groups) assert.ok((await follow(opened, `/ui/costs?by=${by}`)).length > 1, by);
    const hour = "/ui/costs?from=2026-11-01T09:05:00.000Z&to=2026-11-01T11:56:00.000Z";
    for (const by of ["hour", "agent", ...thorough("day")]) {
      await follow(opened, `${hour}&agent_id=researcher&by=${by}`);
    }
  },

  async "from comparisons, caching and the forecast"(dashboard) {
    await using opened = await openAt(dashboard, NO_AMOUNTS);
    for (
      const page of [
        "compare?span=month&by=model",
        "caching?span=all",
        ...thorough("compare", "forecast?from=2026-10-31"),
      ]
    ) {
      assert.ok((await follow(opened, `/ui/costs/${page}`)).length > 0, page);
    }
  },

  async "from budgets and rules, and from their pages"(dashboard) {
    await using opened = await openAt(dashboard, NO_AMOUNTS);
    const hrefs = await follow(opened, "/ui/budgets");
    assert.ok(hrefs.includes("/ui/sessions/ses_looper?tab=runs"), hrefs.join("\n"));
    for (const [name, id] of Object.entries(ids)) {
      if (!isThorough && !["agent", "sessions", "an hour"].includes(name)) continue;
      const found = await follow(opened, `/ui/budgets/${id.startsWith("rule_") ? "rules/" : ""}${id}`);
      // A session of a day is a part of it, and the budget of a run counts the runs below it.
      if (!["sessions of a day", "runs"].includes(name)) assert.ok(found.length > 0, name);
    }
  },

  async "from alerts, also where calls were booked after them"(dashboard) {
    await using opened = await openAt(dashboard, NO_AMOUNTS);
    const { body } = await dashboard.purser.api("GET", "/alerts/history");
    const names = new Set<string>();
    const expected = ["an hour", "a session", ...thorough("a month of support", "a run", "all", "agent")];
    for (const { alert_id, rule_name } of body) {
      if (!isThorough && (names.has(rule_name) || !expected.includes(rule_name))) continue;
      const found = await follow(opened, `/ui/budgets/alerts/${alert_id}`);
      if (found.length > 0) names.add(rule_name);
    }
    for (const name of expected) {
      assert.ok(names.has(name), `no link from an alert of ${name}`);
    }
  },

  async "from sessions and their calls"(dashboard) {
    await using opened = await openAt(dashboard, NO_AMOUNTS);
    for (const path of ["", "/ses_looper?tab=calls", ...thorough("?order=dearest", "/ses_looper")]) {
      assert.ok((await follow(opened, `/ui/sessions${path}`)).length > 0, path);
    }
  },

  async "or says what the sum is of where none is the same"(dashboard) {
    await using opened = await openAt(dashboard, `/ui/budgets/${ids.runs}`);
    assert.match(
      await statOf(opened.page, "Spent"),
      /the most of the latest, by run run_\w+ and the runs below it$/,
    );
    await changeAddress(opened.page, `/ui/budgets/rules/${ids["a run"]}`);
    assert.match(await statOf(opened.page, "Value"), /the newest run run_\w+$/);
  },
});
