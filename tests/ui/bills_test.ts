import assert from "node:assert/strict";
import type { Page } from "#dev/playwright_core.ts";
import { beginImport, finishImport, stagePage } from "../../src/bills/import/store_import.ts";
import type { BillLine } from "../../src/bills/lines/bill_line.ts";
import { DAY_MS } from "../../src/kernel/clock.ts";
import { createWebSession } from "../../src/keys/mod.ts";
import { type ModelCall, recordCalls, recordPrices, recordUpstreams } from "../../src/ledger/mod.ts";
import { priceCall } from "../../src/calls/make_call.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import { changeAddress, expectAccessible } from "../harness/browser.ts";
import { type TestDashboard, testDashboard } from "../harness/dashboard.ts";
import { makeKey } from "../harness/http_client.ts";
import { modelCall } from "../harness/model_calls.ts";
import { dataRequests, openAt, rowsOf, statOf } from "./_money.ts";

/** The bills of providers in the dashboard: their months, comparisons with the ledger, and lines. */

const OCTOBER = Date.parse("2026-10-01T00:00:00Z");
const SEPTEMBER = Date.parse("2026-09-01T00:00:00Z");
const MODEL = "claude-test";
const HOSTILE = "\u202e<img src=x onerror=alert(1)>";
const PRICE = { provider: "anthropic", model: MODEL, input_usd_per_million: 3, output_usd_per_million: 15 };

/** Books calls of 1,000 tokens of input and 100 of output as the gateway does: each costs $0.0045. */
async function book({ purser: { core } }: TestDashboard, ...calls: Partial<ModelCall>[]) {
  const booked = calls.map((fields) => {
    const call = modelCall({
      callId: `call_${fields.at}`,
      provider: "anthropic",
      model: MODEL,
      source: "gateway",
      upstream: { credential: "TEAM_KEY", keyHash: "00" },
      usage: usageOf({ inputTokens: 1_000, outputTokens: 100 }),
      ...fields,
    });
    return { ...call, ...priceCall(core.prices, call) };
  });
  await core.store.write([
    ...recordPrices(booked, new Set()).statements,
    ...recordUpstreams(booked, new Set()).statements,
    ...recordCalls(booked),
    { sql: "UPDATE upstreams SET key_id = 'apikey_1'" },
  ]);
}

/** Imports the lines of a month, as a source does that has all of it. */
async function importLines({ purser: { core } }: TestDashboard, from: number, to: number, lines: BillLine[]) {
  const begun = await beginImport(core, { source: "anthropic", account: "", from, to, queryHash: "q" });
  await finishImport(core, await stagePage(core, begun, { lines, refreshedAt: to }), {
    wholeSeries: ["usage", "cost"],
    areRowsDistinct: false,
  });
}

const line = (startsAt: number, endsAt: number, more: Partial<BillLine>): BillLine => ({
  ...{ series: "cost", category: "usage", startsAt, endsAt, model: MODEL },
  ...more,
  ...more.amount !== undefined && { currency: more.currency ?? "USD" },
});

/** The lines of the calls of a day: their usage by key, and their costs. */
function linesOf(day: number, keys: Record<string, number>, { price = 1, output = "" } = {}) {
  const at = OCTOBER + day * DAY_MS;
  const calls = Object.values(keys).reduce((sum, count) => sum + count, 0);
  const cost = (part: string, usd: number) =>
    line(at, at + DAY_MS, { part, amount: String(Number(usd.toFixed(9))) });
  return [
    ...Object.entries(keys).flatMap(([credential, count]) =>
      Object.entries({ requests: 1, input_tokens: 1_000, output_tokens: 100 }).map(([part, quantity]) =>
        line(at, at + 3_600_000, { series: "usage", part, quantity: String(quantity * count), credential })
      )
    ),
    cost("input_tokens", calls * 0.003 * price),
    output
      ? line(at, at + DAY_MS, { part: "output_tokens", amount: output })
      : cost("output_tokens", calls * 0.0015 * price),
  ];
}

/** Presses a button of the page, and the one of its dialog. */
async function confirm(
  page: Page,
  label: string,
  fill?: (dialog: ReturnType<Page["getByRole"]>) => Promise<void>,
) {
  await page.locator("main").getByRole("button", { name: label, exact: true }).first().click();
  const dialog = page.getByRole("dialog");
  await fill?.(dialog);
  await dialog.getByRole("button", { name: label, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

const OF_OCTOBER = { source: "anthropic", month: "2026-10" };

const plain = (rows: string[]) => rows.map((row) => row.replaceAll(/\s+/g, " ").trim());

testDashboard("the bills of providers", { config: { prices: [PRICE] as never } }, {
  async "there is none yet, and the page says which command imports one"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/bills");
    await opened.page.getByText("No bill yet").waitFor();
    await opened.page.getByText("purser bills import anthropic --month last-month").waitFor();
  },

  async "a month without a comparison has no figures, and is compared by a button"(dashboard) {
    const days = [0, 1, 2, 3, 5].map((day) => ({ at: OCTOBER + day * DAY_MS }));
    await book(dashboard, ...days, {
      at: SEPTEMBER,
      isEstimated: true,
      usage: usageOf({ inputTokens: 1_000, outputTokens: 40 }),
    }, { at: SEPTEMBER + 3_600_000 });
    await importLines(dashboard, OCTOBER, OCTOBER + 31 * DAY_MS, [
      ...linesOf(0, { apikey_1: 1, [HOSTILE]: 2 }),
      ...linesOf(1, { apikey_1: 1 }, { price: 1.5 }),
      ...linesOf(2, { apikey_1: 1 }, { price: 1.5 }),
      ...linesOf(3, { apikey_1: 1 }).map((one) => one.amount ? { ...one, amount: "0" } : one),
      ...linesOf(5, { apikey_1: 1 }, { output: "0.1015" }),
      line(OCTOBER, OCTOBER + DAY_MS, { category: "tax", amount: "1", model: undefined }),
      line(OCTOBER, OCTOBER + DAY_MS, { amount: "5", currency: "EUR", part: "input_tokens" }),
    ]);
    const minute = (at: number, [part, quantity]: [string, string]) =>
      line(at, at + 60_000, { series: "usage", part, quantity });
    const call = Object.entries({ requests: "1", input_tokens: "1000", output_tokens: "100" });
    await importLines(dashboard, SEPTEMBER, OCTOBER, [
      ...call.map((part) => minute(SEPTEMBER, part)),
      ...call.map((part) => minute(SEPTEMBER + 3_600_000, part)),
      line(SEPTEMBER, SEPTEMBER + DAY_MS, { part: "input_tokens", amount: "0.006" }),
      line(SEPTEMBER, SEPTEMBER + DAY_MS, { part: "output_tokens", amount: "0.003" }),
    ]);
    await using opened = await openAt(dashboard, "/ui/bills");
    const { page } = opened;
    const none = "not compared";
    assert.deepEqual(plain(await rowsOf(page, "Months of bills")), [
      `anthropic 2026-10 | open | ${[none, none, none, none, none].join(" | ")} | Reconcile`,
      `anthropic 2026-09 | open | ${[none, none, none, none, none].join(" | ")} | Reconcile`,
    ]);
    await expectAccessible(page);
    await confirm(page, "Reconcile", async (dialog) => {
      await dialog.getByText("As a command").click();
      await dialog.getByLabel("What may stay unexplained").fill("0.01");
      await dialog.getByText("purser reconcile anthropic --month 2026-10 --limit 0.01").waitFor();
    });
    await page.getByRole("heading", { name: "anthropic 2026-10" }).waitFor();
  },

  async "a comparison has four figures, the way from the ledger to the bill, and what passes by"(dashboard) {
    await dashboard.purser.api("POST", "/reconciliations", OF_OCTOBER);
    await using opened = await openAt(dashboard, "/ui/bills");
    const { page } = opened;
    await page.getByRole("link", { name: "anthropic 2026-10" }).click();
    await page.getByText("The bill is final on 2026-11-06").waitFor();
    assert.equal(await statOf(page, "Bill"), "$1.13 | 30 lines");
    assert.equal(await statOf(page, "Ledger"), "$0.0225 | 5 calls");
    assert.equal(await statOf(page, "Difference"), "+$1.11 | the bill less the ledger");
    assert.match(await statOf(page, "Unexplained"), /^\$0\.10 \| over its limit \$0\.0+\d+$/);
    assert.equal(await statOf(page, "Price"), "+$0.10 | other prices");
    assert.deepEqual(plain(await rowsOf(page, "From the ledger to the bill")), [
      "Ledger | | $0.0225",
      "taxIt belongs to no call. | | +$1.00",
      "unexplainedCompare its lines with its calls, and ask the provider. | | +$0.10",
      "bypassImport the calls of this key, or have them go through the gateway. | | +$0.009",
      "not billedNothing is owed for these calls. | | −$0.0045",
      "priceSet this price, then price the calls again: purser prices set, purser reprice. | | +$0.0045",
      "Bill | | $1.13",
    ]);
    assert.deepEqual(await rowsOf(page, "Coverage"), [
      "Of the bill in scope | 18% | $0.0225",
      "Of the whole account | 2% | $0.0225",
      "Of the ledger, confirmed | 80% | $0.0180",
      "Matched by call | 0% | $0",
      "Matched by minute | 0% | $0",
      "Matched by bucket | 18% | $0.0225",
      "Matched by day | 0% | $0",
      "Matched by total | 0% | $0",
    ]);
    assert.deepEqual(await rowsOf(page, "What passes Purser by, by key"), [
      "\\u202e<img src=x onerror=alert(1)> | 2 | $0.009",
    ]);
    await page.getByText("5 EUR, 1 line").waitFor();
    await expectAccessible(page);
  },

  async "a cause leads to its differences, and these to their lines and calls"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/bills");
    const { page } = opened;
    await page.getByRole("link", { name: "anthropic 2026-10" }).click();
    await page.getByRole("link", { name: "unexplained" }).press("Enter");
    await page.getByRole("heading", { name: "Differences: unexplained" }).waitFor();
    const [only, ...others] = plain(await rowsOf(page, "Differences"));
    assert.match(
      only!,
      /^unexplained.* \| claude-test, output tokens.* \| 2026-10-06 00:00 UTC.* \| 0 \| \+\$0\.10/,
    );
    assert.deepEqual(others, []);
    const differences = page.getByRole("region", { name: "Differences", exact: true });
    await differences.getByRole("link", { name: "calls" }).click();
    await page.getByRole("heading", { name: "Costs" }).waitFor();
    assert.match(await statOf(page, "Cost"), /^\$0\.0045 /);
    await page.goBack();
    await page.getByRole("link", { name: "All causes" }).waitFor();
    await differences.getByRole("link", { name: "lines" }).click();
    await page.getByRole("heading", { name: "Lines of anthropic 2026-10-06" }).waitFor();
    const ofDay = plain(await rowsOf(page, "Lines of the bill"));
    assert.ok(ofDay.length > 0 && ofDay.every((row) => row.startsWith("2026-10-06")), ofDay.join("\n"));
    await changeAddress(page, "/ui/bills/lines?source=anthropic&month=2026-10");
    await page.getByRole("heading", { name: "Lines of anthropic 2026-10", exact: true }).waitFor();
    const rows = plain(await rowsOf(page, "Lines of the bill"));
    assert.equal(rows.length, 30);
    // The key has the name that the ledger has for it, beside the provider's id.
    assert.ok(
      rows.includes(
        "2026-10-01 00:00 UTC | 2026-10-01 01:00 UTC | usage | claude-test | requests | TEAM_KEYapikey_1 | 1 |",
      ),
      rows.join("\n"),
    );
    assert.ok(rows.some((row) => row.endsWith(" | 5 EUR")));
    await expectAccessible(page);
  },

  async "a month with too much unexplained is not closed, until its limit is higher; it is closed and reopened with a reason"(
    dashboard,
  ) {
    await using opened = await openAt(dashboard, "/ui/bills");
    const { page } = opened;
    await page.getByRole("link", { name: "anthropic 2026-10" }).click();
    await page.getByText("over its limit").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.getByText("Cannot close 2026-10 of anthropic: 0.1 USD are unexplained").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await confirm(page, "Reconcile", (dialog) => dialog.getByLabel("What may stay unexplained").fill("0.1"));
    await page.getByText("within its limit of").waitFor();
    await confirm(page, "Close");
    await page.locator(".badge", { hasText: "soft-closed" }).waitFor();
    await confirm(page, "Reopen", (dialog) => dialog.getByLabel("Reason").fill(`late ${HOSTILE}`));
    await page.locator(".badge", { hasText: "reopened" }).waitFor();
    await changeAddress(page, "/ui/bills");
    await page.getByText(/^reopened/).first().waitFor();
    const [month] = plain(await rowsOf(page, "Months of bills"));
    assert.match(
      month!,
      /^anthropic 2026-10 \| reopened ?by .*: late \\u202e<img src=x onerror=alert\(1\)> \| \$1\.13/,
    );
  },

  async "estimates that the bill proves are corrected, and the corrections taken back"(dashboard) {
    await dashboard.purser.api("POST", "/reconciliations", { ...OF_OCTOBER, month: "2026-09" });
    await using opened = await openAt(dashboard, "/ui/bills");
    const { page } = opened;
    await page.getByRole("link", { name: "anthropic 2026-09" }).click();
    await page.getByText("The bill is final since").waitFor();
    const ledger = await statOf(page, "Ledger");
    assert.equal(await statOf(page, "proposed"), "1");
    await confirm(
      page,
      "Correct",
      async (dialog) => assert.ok(await dialog.getByLabel("Correct the estimates").isChecked()),
    );
    await page.getByRole("button", { name: "Undo" }).waitFor();
    assert.equal(await statOf(page, "applied"), "1");
    await expectAccessible(page);
    await confirm(page, "Undo");
    await page.getByRole("button", { name: "Undo" }).waitFor({ state: "detached" });
    assert.equal(await statOf(page, "undone"), "1");
    assert.equal(await statOf(page, "Ledger"), ledger);
    // A month is closed as it was compared last.
    await confirm(page, "Reconcile");
    await page.getByText("The bill is final since").waitFor();
    await confirm(page, "Close");
    await page.locator(".badge", { hasText: /^closed$/ }).waitFor();
    const buttons = await page.locator("main").getByRole("button").allTextContents();
    assert.ok(
      buttons.includes("Reopen") && !buttons.includes("Reconcile") && !buttons.includes("Correct"),
      String(buttons),
    );
  },

  async "a key that reads one agent sees why, and asks for nothing"(dashboard) {
    const { keyId } = await makeKey(dashboard.purser, ["read"], { name: "ann", agent_id: "coder" });
    const { token } = await createWebSession(dashboard.purser.core, {
      keyId,
      scopes: ["read"],
      agentId: "coder",
    });
    await using opened = await openAt(dashboard, "/ui/bills", { session: token });
    await opened.page.getByText("Bills are shown to keys with the scope admin").waitFor();
    assert.deepEqual(dataRequests(opened).filter((request) => /bills|reconciliations/.test(request)), []);
    await expectAccessible(opened.page);
  },
});
