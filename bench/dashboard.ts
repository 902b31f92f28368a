/**
 * The pages of the dashboard over a ledger of a million calls, in Chromium: the requests of each page, the duration of each
 * as the browser sees it, and the time from the last answer to the figures on the page. Fails if a page exceeds its limits.
 */
import { openBrowser } from "../tests/harness/browser.ts";
import { createRule } from "../src/alerts/mod.ts";
import { rollUp } from "../src/calls/mod.ts";
import { createBudget } from "../src/budgets/mod.ts";
import { runAgent } from "../src/runner/mod.ts";
import { openCore } from "../src/service/mod.ts";
import { toAgentDefinition } from "../src/agents/mod.ts";
import { exceeded } from "./dashboard_limits.ts";
import { DAYS, fillLedger } from "./fill_ledger.ts";
import { median, report } from "./measure.ts";
import { startServer } from "./start_server.ts";
import { readVersions } from "./versions.ts";

const SIZE = Number(Deno.args.find((arg) => /^\d+$/.test(arg)) ?? 1_000_000);
const RUNS = 7;
const SESSION = "ses_bench";
const MONTH = new Date().toISOString().slice(0, 8) + "01";

/** The pages, by what they show. */
const PAGES: Record<string, string> = {
  "Now": "/ui/",
  "Now, all": "/ui/?span=all",
  "Costs": "/ui/costs",
  "Compare": "/ui/costs/compare?period=month",
  "Caching": "/ui/costs/caching?span=all",
  "Coverage": "/ui/costs/coverage?span=all",
  "Forecast": "/ui/costs/forecast",
  "Costs, this month": `/ui/costs?from=${MONTH}`,
  "Budgets": "/ui/budgets",
  "Alerts": "/ui/budgets/alerts",
  "Refusals": "/ui/budgets/refusals",
  "Sessions": "/ui/sessions",
  "Sessions of a status": "/ui/sessions?status=failed",
  "A session": `/ui/sessions/${SESSION}`,
  "Keys & channels": "/ui/keys",
};

/** Fills a database: calls and their totals, budgets, a rule that fires, and a session with a log. */
async function fill(db: string): Promise<void> {
  const core = await openCore({
    env: {},
    config: {
      dbUrl: db,
      durability: "normal",
      environment: "bench",
      remoteTimeoutMs: 60_000,
      maxBodyBytes: 1_000_000,
    },
  });
  try {
    await fillLedger(core, { size: SIZE, end: Date.now() });
    await rollUp(core);
    const rule = { threshold_type: "per_day_usd", threshold_usd: 0.000001, severity: "warning" } as const;
    for (let n = 1; n <= 5; n++) {
      await createRule(core, { ...rule, name: `Rule ${n}` });
      await createBudget(core, { name: `Budget ${n}`, limit_usd: 1_000 * n, per: "month" });
    }
    const agent = toAgentDefinition("looper", { model: "demo:loop", tools: ["calculator"], max_steps: 60 }, {
      checkModel() {},
      checkTools() {},
    });
    await runAgent(core, { agent, input: "50 times", sessionId: SESSION });
  } finally {
    await core.close();
  }
}

/** Notes when a page has its figures: it has text, and no skeleton is left. */
const NOTE_SHOWN = `(() => {
  const look = () => {
    const main = document.querySelector("main");
    const isShown = main?.querySelector("h1") && !document.querySelector(".skeleton") && main.innerText.length > 40;
    if (isShown) globalThis.shownAt ??= performance.now();
    else globalThis.shownAt = undefined;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()`;

interface Load {
  requests: { path: string; ms: number; at: number }[];
  shownMs: number;
}

const faults: string[] = [];
const directory = await Deno.makeTempDir({ prefix: "purser-bench-" });
try {
  const db = `${directory}/bench.db`;
  await fill(db);
  await using server = await startServer(readVersions([])[0]!, db);
  await using browser = await openBrowser();
  for (const [name, path] of Object.entries(PAGES)) {
    const loads: Load[] = [];
    for (let run = -1; run < RUNS; run++) {
      const load = await openPage(browser, server.url + path);
      if (run >= 0) loads.push(load);
    }
    const last = loads.at(-1)!;
    const lines: [string, string][] = [];
    const requests: { path: string; aloneMs: number }[] = [];
    for (const [index, { path }] of last.requests.entries()) {
      const seen = median(loads.map(({ requests }) => requests[index]?.ms ?? NaN));
      const aloneMs = await timeAlone(server.url + path);
      lines.push([path, `${seen.toFixed(1)} ms, alone ${aloneMs.toFixed(1)} ms`]);
      requests.push({ path, aloneMs });
    }
    const shownMs = median(loads.map(({ shownMs }) => shownMs));
    report(`${name}: ${last.requests.length} requests`, [
      ...lines,
      ["figures after the last answer", `${shownMs.toFixed(0)} ms`],
    ]);
    faults.push(...exceeded({ page: name, requests, shownMs }));
  }
} finally {
  await Deno.remove(directory, { recursive: true });
}
console.log(`\n${SIZE.toLocaleString("en")} calls of ${DAYS} days; medians of ${RUNS} loads`);
for (const fault of faults) console.error(`Too much: ${fault}`);
if (faults.length > 0) Deno.exitCode = 1;

/** Returns the duration of a request that has the server to itself. */
async function timeAlone(url: string): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 2 * RUNS; run++) {
    const start = performance.now();
    const response = await fetch(url);
    await response.arrayBuffer();
    times.push(performance.now() - start);
    if (!response.ok) throw new Error(`${url} was answered with ${response.status}`);
  }
  return median(times);
}

/** Opens a page, and returns its requests for data, in the order of their addresses, and when its figures were shown. */
async function openPage(
  browser: Awaited<ReturnType<typeof openBrowser>>,
  url: string,
): Promise<Load> {
  await using opened = await browser.open(new URL("/healthz", url).href, { isCold: true });
  const { page } = opened;
  await page.addInitScript(NOTE_SHOWN);
  await page.goto(url);
  await page.waitForFunction(() => {
    const { shownAt } = globalThis as unknown as { shownAt?: number };
    return shownAt !== undefined && performance.now() - shownAt > 300;
  });
  return await page.evaluate(() => {
    const { shownAt } = globalThis as unknown as { shownAt: number };
    const entries = (performance.getEntriesByType("resource") as PerformanceResourceTiming[])
      .filter(({ initiatorType, name }) => initiatorType === "fetch" && !/\/(live|ui\/session)$/.test(name));
    const requests = entries.map(({ name, requestStart, responseEnd }) => ({
      path: name.replace(location.origin, ""),
      ms: responseEnd - requestStart,
      at: responseEnd,
    })).sort((a, b) => a.path < b.path ? -1 : 1);
    const answered = Math.max(0, ...requests.filter(({ at }) => at <= shownAt).map(({ at }) => at));
    return { requests, shownMs: shownAt - answered };
  });
}
