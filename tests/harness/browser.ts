import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import axe from "#dev/axe_core.ts";
import { type BrowserContext, chromium, type Page } from "#dev/playwright_core.ts";

/** Chromium as Debian packages it: nothing is downloaded for it. */
const CHROMIUM = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((path) => existsSync(path));

/** True if tests in a browser are skipped; in the full gate they run, and fail without one. */
export const skipBrowser: boolean = CHROMIUM === undefined && Deno.env.get("PURSER_REQUIRE_ALL") !== "1";

/** A browser of one test file. */
export interface TestBrowser extends AsyncDisposable {
  /** Opens a page with storage of its own. */
  open(url: string, options?: PageOptions): Promise<TestPage>;
}

/** The settings of a page. */
export interface PageOptions {
  width?: number;
  theme?: "light" | "dark";
  /** The page leaves the dashboard, and what other sites do fails nothing. */
  leaves?: true;
  /** The page's clock moves by `page.clock` only. */
  hasClock?: true;
  /** The time that the page sees, for good. */
  at?: number;
  /** Cookies and storage of another page. */
  context?: BrowserContext;
}

/** A page, and what went wrong in it. `await using` closes it, and fails if anything went wrong. */
export interface TestPage extends AsyncDisposable {
  readonly page: Page;
  /** Violations of the content security policy, exceptions, errors on the console, and requests to another origin. */
  readonly faults: string[];
  /** The requests of the page to the server, as `GET /costs`. */
  readonly requests: string[];
}

/** Starts Chromium. */
export async function openBrowser(): Promise<TestBrowser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu"],
  });
  return {
    async open(url, { width = 1280, theme = "light", leaves, hasClock, at, context } = {}) {
      const own = context ?? await browser.newContext({
        viewport: { width, height: 800 },
        colorScheme: theme,
        reducedMotion: "reduce",
        locale: "en-US",
        timezoneId: "Asia/Kolkata",
      });
      const page = await own.newPage();
      const faults: string[] = [];
      const requests: string[] = [];
      const { origin } = new URL(url);
      page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
      page.on("console", (message) => {
        // A refused request is a state that the page shows.
        const text = message.text();
        if (message.type() === "error" && !text.startsWith("Failed to load resource")) faults.push(text);
      });
      page.on("request", (request) => {
        const asked = new URL(request.url());
        if (asked.protocol === "data:" || asked.protocol === "blob:") return;
        if (asked.origin !== origin) faults.push(`request to ${asked.origin}`);
        else requests.push(`${request.method()} ${asked.pathname}${asked.search}`);
      });
      await page.addInitScript(REPORT_VIOLATIONS);
      if (hasClock) await page.clock.install({ time: 0 });
      if (at !== undefined) await page.clock.setFixedTime(at);
      await page.goto(url);
      return {
        page,
        faults,
        requests,
        async [Symbol.asyncDispose]() {
          await (context ? page.close() : own.close());
          if (!leaves) assert.deepEqual(faults, []);
        },
      };
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

const REPORT_VIOLATIONS =
  `addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) =>
  console.error("policy: " + violatedDirective + " " + blockedURI + " " + sample));`;

const LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Fails unless a page meets WCAG 2.2 AA as far as axe can judge: light and dark, wide, and 320 pixels wide. */
export async function expectAccessible(page: Page, what = page.url()): Promise<void> {
  await page.evaluate(axe.source);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 800 });
      const found = await page.evaluate(async (levels) => {
        const { axe } = globalThis as unknown as { axe: typeof import("#dev/axe_core.ts").default };
        const { violations, passes } = await axe.run(document, { runOnly: levels });
        if (passes.length < 5) return [`only ${passes.length} rules have found something to judge`];
        return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
      }, LEVELS);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.deepEqual(found, [], `${what}, ${colorScheme}, ${width} pixels`);
      assert.ok(overflow <= 0, `${what} is ${overflow} pixels wider than ${width}`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: "light" });
}
