import assert from "node:assert/strict";
import { fixedClock } from "../../src/kernel/clock.ts";
import { changeAddress, expectAccessible } from "../harness/browser.ts";
import { testDashboard } from "../harness/dashboard.ts";
import { ask, bookCalls, CALLS, expectFewRequests, figure, NOW, open, rowsOf } from "./_costs.ts";
import { downloaded } from "./_downloads.ts";

/** The costs in the dashboard, with exact figures: of a span, its parts and its days. */

testDashboard("the costs in the dashboard", { clock: fixedClock(NOW) }, {
  "the calls are booked": bookCalls,

  async "a span has its total, what changed, and its parts"(dashboard) {
    await using opened = await open(dashboard, "");
    const total = await ask(
      dashboard,
      "/costs/total?from=2026-11-19&compare_from=2026-11-12&compare_to=2026-11-18T12:00:00Z",
    );
    assert.equal(await figure(opened, "Cost"), String(total.cost_usd));
    assert.equal(await figure(opened, "Calls"), "5");
    assert.equal(
      await opened.page.locator(".stat-note .difference").getAttribute("value"),
      String(total.difference_usd),
    );
    const rows = await rowsOf(opened, "Costs by model");
    assert.deepEqual(rows.map((row) => [row[0], row[1], row[2], row[4]]).slice(0, 2), [
      ["acme:alpha", "2", "2,200", "1.75"],
      ["acme:\\u202e<img src=x onerror=alert(1)>", "1", "1,100", "0.125"],
    ]);
    assert.match(rows.at(-1)!.join(" "), /^acme:unknown 1 without a price 1 1,100 – no price$/);
    assert.equal(await opened.page.locator("img").count(), 0);
    assert.match(
      await opened.page.locator(".coverage-note").textContent() ?? "",
      /^1 of 5 calls has no price/,
    );
    expectFewRequests(opened);
  },

  async "a chart is stacked by day, and opens a day by the keyboard"(dashboard) {
    await using opened = await open(dashboard, "?split=agent");
    const { page } = opened;
    const chart = page.getByRole("img", { name: /^Cost by day and agent: / });
    await chart.focus();
    await page.keyboard.press("End");
    assert.match(await page.locator(".legend").textContent() ?? "", /researcher\$0\.25.*2026-11-25/);
    await page.keyboard.press("ArrowLeft");
    assert.match(await page.locator(".legend").textContent() ?? "", /researcher\$1\.50support–2026-11-24/);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Spent on 2026-11-24 (UTC)" }).waitFor();
    assert.equal(await figure(opened, "Cost"), "1.5");
    assert.deepEqual((await rowsOf(opened, "Costs by model")).map((row) => row[4]), ["1.5"]);
    await page.getByRole("link", { name: /^Remove the filter Span/ }).click();
    await page.getByRole("heading", { name: "Spent in the last 7 days" }).waitFor();
  },

  async "yesterday is chosen by its name, and any days by their dates"(dashboard) {
    await using opened = await open(dashboard, "");
    const { page } = opened;
    const first = page.getByLabel("First day (UTC)");
    const last = page.getByLabel("Last day (UTC)");
    assert.deepEqual([await first.inputValue(), await last.inputValue()], ["2026-11-19", "2026-11-25"]);
    await page.getByLabel("Span", { exact: true }).selectOption("Yesterday");
    await page.getByRole("heading", { name: "Spent yesterday" }).waitFor();
    assert.match(page.url(), /\?span=yesterday$/);
    assert.equal(await figure(opened, "Cost"), "1.5");
    assert.deepEqual([await first.inputValue(), await last.inputValue()], ["2026-11-24", "2026-11-24"]);
    await page.getByRole("img", { name: /^Cost by hour and model: / }).waitFor();

    await first.fill("2026-11-18");
    await page.getByRole("heading", { name: "Spent from 2026-11-18 to 2026-11-24" }).waitFor();
    assert.match(page.url(), /\?from=2026-11-18&to=2026-11-25$/);
    assert.equal(await figure(opened, "Cost"), "2.5");
    await last.fill("2026-11-18");
    await page.getByRole("heading", { name: "Spent on 2026-11-18 (UTC)" }).waitFor();
    assert.equal(await figure(opened, "Cost"), "1");
    // A last day before the first one is a span of that day; a date that is being typed changes nothing.
    await first.fill("2026-11-24");
    await page.getByRole("heading", { name: "Spent on 2026-11-24 (UTC)" }).waitFor();
    await first.fill("0002-11-24");
    assert.match(page.url(), /\?from=2026-11-24&to=2026-11-25$/);
    await page.getByLabel("Span", { exact: true }).selectOption("All time");
    await page.getByRole("heading", { name: "Spent in all time" }).waitFor();
    assert.deepEqual([await first.inputValue(), await last.inputValue()], ["", ""]);
  },

  async "each bar is a link to its day or hour with the filters of the page, as is each row of its data"(
    dashboard,
  ) {
    await using opened = await open(dashboard, "?agent_id=researcher&span=7d&split=provider");
    const { page } = opened;
    const day = "/ui/costs?agent_id=researcher&split=provider&from=2026-11-24&to=2026-11-25";
    await page.locator(`.chart-links a[href="${day}"]`).waitFor({ state: "attached" });
    assert.equal(await page.locator(".chart-links a").count(), 7);
    await page.getByText("Data as a table").click();
    const row = page.getByRole("region", { name: /: data$/ }).getByRole("link", { name: "2026-11-24" });
    assert.equal(await row.getAttribute("href"), day);
    await page.locator(`.chart-links a[href="${day}"]`).click();
    await page.getByRole("heading", { name: "Spent on 2026-11-24 (UTC)" }).waitFor();
    await page.getByRole("img", { name: /^Cost by hour and provider: / }).waitFor();
    // The next questions: against the day before, and which sessions.
    await page.getByRole("link", { name: "what changed" }).click();
    await page.getByRole("heading", { name: "On 2026-11-24 (UTC), and the day before" }).waitFor();
    assert.equal(await figure(opened, "The day before"), "0");
    await page.getByRole("link", { name: "sessions", exact: true }).click();
    await page.getByRole("region", { name: "Costs by session" }).waitFor();
    assert.match(page.url(), /agent_id=researcher&from=2026-11-24&to=2026-11-25&by=session/);
    assert.deepEqual((await rowsOf(opened, "Costs by session")).map((row) => row.at(-1)), ["1.5"]);
  },

  async "a chart can be reached by the Tab key in every browser"(dashboard) {
    await using opened = await open(dashboard, "");
    const chart = opened.page.getByRole("img", { name: /^Cost by day and model: / });
    assert.equal(await chart.evaluate((element) => element.getAttributeNS(null, "tabindex")), "0");
  },

  async "a span of up to two days is in hours, named in words, with the local time beside UTC"(dashboard) {
    await using opened = await open(
      dashboard,
      "?from=2026-11-25T09:30:00.000Z&to=2026-11-25T11:30:00.000Z&agent_id=support",
    );
    const { page } = opened;
    await page.getByRole("heading", { name: "Spent on 2026-11-25 from 09:30 to 11:30 UTC" }).waitFor();
    await page.locator(".chip", { hasText: "on 2026-11-25 from 09:30 to 11:30 UTC" }).waitFor();
    const chart = page.getByRole("img", { name: /^Cost by hour and model: / });
    assert.match(await chart.textContent() ?? "", /UTC09:3010:0011:00$/);
    await chart.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    // The browser of the tests is in Kolkata.
    await page.locator(".readout", { hasText: "Nov 25, 10:00 UTC · Nov 25, 3:30 PM GMT+5:30" }).waitFor();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.waitForURL(/from=2026-11-25T11%3A00%3A00.000Z&to=2026-11-25T11%3A30%3A00.000Z/);

    await changeAddress(page, "/ui/costs?from=2026-11-24T00:00:00.000Z");
    await page.getByRole("heading", { name: "Spent from 2026-11-24", exact: true }).waitFor();
    await page.getByRole("img", { name: /^Cost by hour and model: / }).waitFor();
    await changeAddress(page, "/ui/costs?from=2026-11-23");
    await page.getByRole("img", { name: /^Cost by day and model: / }).waitFor();
  },

  async "a figure links to its parts, and filters are in the address"(dashboard) {
    await using opened = await open(dashboard, "?span=all");
    const { page } = opened;
    await page.getByRole("link", { name: "acme:alpha" }).click();
    await page.waitForURL(/model=acme%3Aalpha/);
    await page.locator(".chip", { hasText: "acme:alpha" }).waitFor();
    await page.getByRole("region", { name: "Costs by agent" }).waitFor();
    assert.deepEqual((await rowsOf(opened, "Costs by agent")).map((row) => [row[0], row[4]]), [
      ["researcher", "2.75"],
    ]);
    await page.getByText("Add a filter").click();
    await page.getByLabel("Filter by").selectOption("tag");
    const suggested = page.locator("datalist option");
    await page.locator('datalist option[value="customer:"]').waitFor({ state: "attached" });
    await page.getByLabel("Value of the filter").fill("customer:");
    await page.locator('datalist option[value="customer:globex"]').waitFor({ state: "attached" });
    assert.deepEqual(
      await suggested.evaluateAll((all) => all.map((option) => option.getAttribute("value"))),
      ["customer:acme", "customer:globex"],
    );
    await page.getByLabel("Value of the filter").fill("customer:globex");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("No calls in all time").first().waitFor();
    assert.match(page.url(), /tag=customer%3Aglobex/);
    await page.getByRole("link", { name: "Remove the filter Model acme:alpha" }).click();
    await page.getByRole("link", { name: "support" }).first().waitFor();
    assert.equal(await figure(opened, "Calls"), "3");
  },

  async "parts are sessions, runs, keys, days and tags too"(dashboard) {
    await using opened = await open(dashboard, "?span=all&by=session");
    const { page } = opened;
    await page.getByRole("link", { name: "ses-researcher" }).waitFor();
    assert.equal((await rowsOf(opened, "Costs by session"))[0]![5], "2.75");
    const [, , , , times] = (await rowsOf(opened, "Costs by session"))[0]!;
    assert.equal(times, "2026-11-25 09:00 UTCfirst 2026-11-18 09:00 UTC");
    for (
      const [by, first] of [["run", "1.5"], ["key", undefined], ["day", undefined], ["provider", "2.875"]]
    ) {
      await page.getByLabel("Group by", { exact: true }).selectOption(by!);
      const rows = page.getByRole("region", { name: `Costs by ${by}` }).locator("tbody tr");
      await rows.first().waitFor();
      if (first) assert.equal((await rowsOf(opened, `Costs by ${by}`))[0]!.at(-1), first, by);
    }
    await changeAddress(page, "/ui/costs?from=2026-11-20&to=2026-11-21");
    await page.getByText("No calls on 2026-11-20 (UTC)").first().waitFor();
    await page.getByLabel("Group by", { exact: true }).selectOption("By tag");
    await page.locator(".toast", { hasText: "No call of this span has a tag" }).waitFor();
    assert.equal(await page.getByLabel("Group by", { exact: true }).inputValue(), "");
    await changeAddress(page, "/ui/costs?span=all");
    await page.getByLabel("Group by", { exact: true }).selectOption("By tag");
    await page.waitForURL(/by=tag%3Acustomer/);
    const byTag = "Costs by tag customer";
    await page.getByRole("region", { name: byTag }).waitFor();
    assert.deepEqual((await rowsOf(opened, byTag))[0]!.slice(0, 2), ["acme", "3"]);
    const keys = page.getByLabel("Group by: tag").locator("option");
    await keys.nth(1).waitFor({ state: "attached" });
    assert.deepEqual(await keys.allTextContents(), ["customer", "env"]);
    await page.getByRole("link", { name: "globex" }).click();
    await page.getByRole("link", { name: "Remove the filter Tag customer:globex" }).waitFor();
    assert.equal(await figure(opened, "Calls"), "3");
    // A second tag narrows it down, and another value of the same one takes its place.
    await changeAddress(page, "/ui/costs?span=all&by=tag:env&tag=customer:globex");
    await page.getByRole("region", { name: "Costs by tag env" }).getByRole("link", { name: "staging" })
      .first()
      .click();
    await page.getByRole("link", { name: "Remove the filter Tag env:staging" }).waitFor();
    assert.deepEqual(new URL(page.url()).searchParams.getAll("tag"), ["customer:globex", "env:staging"]);
    assert.equal(await figure(opened, "Calls"), "1");
    await page.getByText("Add a filter").click();
    await page.getByLabel("Filter by").selectOption("tag");
    await page.getByLabel("Value of the filter").fill("customer:acme");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("No calls in all time").first().waitFor();
    assert.deepEqual(new URL(page.url()).searchParams.getAll("tag"), ["env:staging", "customer:acme"]);
    await page.getByRole("link", { name: "Remove the filter Tag env:staging" }).click();
    await page.getByRole("link", { name: "acme:alpha" }).first().waitFor();
    assert.equal(await figure(opened, "Calls"), "3");
  },

  async "a table downloads as CSV"(dashboard) {
    await using opened = await open(dashboard, "?by=agent");
    assert.match(await downloaded(opened.page, "CSV", "Costs by agent"), /^agent_id,[^]*\r\nresearcher,2,/);
  },

  async "a chart shows names that every object has as a property"(dashboard) {
    const { purser } = dashboard;
    const named = (name: string, index: number) => ({
      ...CALLS[2],
      call_id: `named-${index}`,
      provider: name,
      cost_usd: 2 + index,
      tags: { customer: name },
    });
    const { status } = await purser.api("POST", "/costs/events", ["__proto__", "constructor"].map(named));
    assert.equal(status, 201);
    for (const split of ["provider", "tag:customer"]) {
      await using opened = await open(dashboard, `?split=${split}&span=7d`);
      await opened.page.getByText("Data as a table").click();
      const data = opened.page.getByRole("region", {
        name: `Cost by day and ${split.replace(":", " ")}: data`,
      });
      await data.waitFor();
      const names = await data.locator("thead th").allTextContents();
      const days = await data.locator("tbody tr").evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent))
      );
      const [at, before] = days.toReversed().map((cells) => (name: string) => cells[names.indexOf(name) - 1]);
      assert.deepEqual([at!("__proto__"), at!("constructor")], ["$2.00", "$3.00"], split);
      assert.deepEqual([before!("__proto__"), before!("constructor")], ["–", "–"], split);
    }
  },

  async "every page is accessible"(dashboard) {
    await using opened = await open(dashboard, "?agent_id=support");
    for (const path of ["?agent_id=support", "/compare", "/caching", "/coverage", "/forecast"]) {
      await changeAddress(opened.page, `/ui/costs${path}`);
      await opened.page.locator("main .table-scroll, main svg").first().waitFor();
      await expectAccessible(opened.page, path);
    }
  },
});

testDashboard("the costs of more groups than an answer has", { clock: fixedClock(NOW) }, {
  async "a day of 1,100 models is drawn by the dearest of them, and says so"(dashboard) {
    const { purser } = dashboard;
    const calls = Array.from({ length: 1_100 }, (_, index) => ({
      ...CALLS[2],
      call_id: `many-${index}`,
      at: "2026-11-25T09:00:00.000Z",
      model: `m${index}`,
      cost_usd: index === 7 ? 5 : 0.01,
    }));
    calls.push({ ...calls[0]!, call_id: "before", at: "2026-11-24T09:00:00.000Z", cost_usd: 3 });
    for (let start = 0; start < calls.length; start += 1_000) {
      const { status } = await purser.api("POST", "/costs/events", calls.slice(start, start + 1_000));
      assert.equal(status, 201);
    }
    for (
      const [query, cut] of [["?span=7d", "Only 2026-11-25 is"], ["?span=today", "Only Nov 25, 09:00 UTC is"]]
    ) {
      await using opened = await open(dashboard, query!);
      const finding = opened.page.locator(".finding").first();
      await finding.waitFor();
      const text = await finding.textContent() ?? "";
      assert.match(text, /the largest part is acme:m7 with \$5\.00 .*At least 994 more models not drawn/);
      assert.ok(text.includes(`${cut} drawn`), text);
      assert.equal(await opened.page.locator(".chart rect.series-1").count(), 1);
      await opened.page.getByText("Data as a table").click();
      const data = opened.page.getByRole("region", { name: /Cost by (day|hour) and model: data/ });
      assert.match(await data.locator("tbody").textContent() ?? "", /\$5\.00/);
    }
    // The home page draws the same answer.
    await using opened = await dashboard.browser.open(`${dashboard.url}/ui/?span=7d`, { at: NOW });
    await opened.page.getByText("Bars before 2026-11-25 are not drawn, and that one not in full.").waitFor();
    assert.equal(await opened.page.locator(".chart rect.series-1").count(), 1);
  },
});

const AUCKLAND = { timeZone: "Pacific/Auckland" };

testDashboard("the days of a server in Auckland", { clock: fixedClock(NOW), config: AUCKLAND }, {
  "the calls are booked": bookCalls,

  // It is half past one on the 26th there.
  async "are those of its pages, which name the zone"(dashboard) {
    await using opened = await open(dashboard, "?by=day");
    const { page } = opened;
    await page.getByText("Days of Pacific/Auckland").waitFor();
    await page.getByRole("columnheader", { name: "Day (Pacific/Auckland)" }).waitFor();
    const rows = await rowsOf(opened, "Costs by day");
    assert.deepEqual(rows.map((row) => row.slice(0, 2).join(" ").replace(/ \d without a price/, "")), [
      ...["2026-11-26 2", "2026-11-25 2", "2026-11-24 1"],
    ]);
    await page.getByRole("link", { name: "2026-11-25", exact: true }).click();
    await page.getByRole("heading", { name: "Spent on 2026-11-25 (Pacific/Auckland)" }).waitFor();
    assert.deepEqual([await figure(opened, "Calls"), await figure(opened, "Cost")], ["2", "0.375"]);
    const chart = page.getByRole("img", { name: /^Cost by hour and model: / });
    await chart.focus();
    await page.keyboard.press("End");
    await page.locator(".readout", {
      hasText: "Nov 25, 23:00+13:00 (Pacific/Auckland) · Nov 25, 3:30 PM GMT+5:30",
    })
      .waitFor();
    await changeAddress(page, "/ui/");
    await page.locator(".stat", { hasText: /^Spent today.*2 calls/ }).waitFor();
    await page.locator(".chart").getByText("23:00").waitFor();
    await changeAddress(page, "/ui/costs/forecast");
    await page.getByRole("heading", { name: "This month (Pacific/Auckland)" }).waitFor();
  },
});
