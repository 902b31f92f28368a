import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import axe from "#dev/axe_core.ts";
import {
  type BrowserContext,
  chromium,
  type ConsoleMessage,
  type Page,
  type Request,
} from "#dev/playwright_core.ts";
import { isThorough } from "./thorough.ts";

/** Chromium as Debian packages it: nothing is downloaded for it. */
const CHROMIUM = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((path) => existsSync(path));

/** True if tests in a browser are skipped; in the full gate they run, and fail without one. */
export const skipBrowser: boolean = CHROMIUM === undefined && Deno.env.get("PURSER_REQUIRE_ALL") !== "1";

/** A browser. */
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
  /** Nothing of an earlier page is cached. */
  isCold?: true;
  /** Cookies and storage of another page. */
  context?: BrowserContext;
  /** The token of a web session that the page has from the start. */
  session?: string;
}

/** A page, and what went wrong in it. `await using` closes it, and fails if anything went wrong. */
export interface TestPage extends AsyncDisposable {
  readonly page: Page;
  /** Violations of the content security policy, exceptions, errors on the console, and requests to another origin. */
  readonly faults: string[];
  /** The requests of the page to the server, as `GET /costs`. */
  readonly requests: string[];
}

/** Otherwise each page that opens another address gets a process of its own. */
const ONE_PROCESS_FOR_PAGES = ["--renderer-process-limit=1", "--disable-site-isolation-trials"];

let shared: Promise<TestBrowser> | undefined;

/** Returns the browser of all tests of a module, which is started by the first and closed after the last of them. */
export function sharedBrowser(): Promise<TestBrowser> {
  return shared ??= openBrowser();
}

Deno.test.afterAll(async () => await (await shared)?.[Symbol.asyncDispose]());

/**
 * Starts Chromium. A page that is closed is emptied, and opened again for a test with the same settings. On the same server it
 * is not loaded again, but the key changes: that takes a quarter of the time, and a fifth where the page is judged.
 */
export async function openBrowser(): Promise<TestBrowser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", ...ONE_PROCESS_FOR_PAGES],
  });
  const idle = new Map<string, Page[]>();
  const newPage = async ({ width = 1280, theme = "light", hasClock, at, context }: PageOptions) => {
    const own = context ?? await browser.newContext({
      viewport: { width, height: 800 },
      colorScheme: theme,
      reducedMotion: "reduce",
      locale: "en-US",
      timezoneId: "Asia/Kolkata",
    });
    const page = await own.newPage();
    await page.addInitScript(REPORT_VIOLATIONS);
    if (hasClock) await page.clock.install({ time: 0 });
    if (at !== undefined) await page.clock.setFixedTime(at);
    return page;
  };
  return {
    async open(url, options = {}) {
      const { leaves, hasClock, isCold, context, session, width = 1280, theme = "light", at } = options;
      const kind = JSON.stringify([width, theme, at]);
      const isReused = !(leaves || hasClock || isCold || context);
      const page = (isReused && idle.get(kind)?.pop()) || await newPage(options);
      const watched = watch(page, url);
      if (!await reopen(page, url, session)) {
        if (session) {
          // A page of the same origin, which has its storage and shows nothing.
          await page.goto(`${new URL(url).origin}/ui/assets/none`);
          await page.evaluate((token) => localStorage.setItem("purser-session", token), session);
        }
        await page.goto(url);
      }
      return {
        page,
        ...watched,
        async [Symbol.asyncDispose]() {
          watched.stop();
          if (context) {
            await page.close();
          } else if (!isReused || !await empty(page)) {
            await page.context().close();
          } else {
            if (page.viewportSize()!.width !== width) await page.setViewportSize({ width, height: 800 });
            if (theme === "dark") await page.emulateMedia({ colorScheme: theme });
            idle.set(kind, [...idle.get(kind) ?? [], page]);
          }
          if (!leaves) assert.deepEqual(watched.faults, []);
        },
      };
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/** Notes what a page asks for, and what goes wrong in it. */
function watch(page: Page, url: string) {
  const faults: string[] = [];
  const requests: string[] = [];
  const { origin } = new URL(url);
  const onError = (error: Error) => void faults.push(`exception: ${error.message}`);
  const onConsole = (message: ConsoleMessage) => {
    // A refused request is a state that the page shows.
    const text = message.text();
    if (message.type() === "error" && !text.startsWith("Failed to load resource")) faults.push(text);
  };
  const onRequest = (request: Request) => {
    const asked = new URL(request.url());
    if (["data:", "blob:", "about:"].includes(asked.protocol)) return;
    if (asked.origin !== origin) faults.push(`request to ${asked.origin}`);
    else requests.push(`${request.method()} ${asked.pathname}${asked.search}`);
  };
  page.on("pageerror", onError).on("console", onConsole).on("request", onRequest);
  const stop = () => page.off("pageerror", onError).off("console", onConsole).off("request", onRequest);
  return { faults, requests, stop };
}

/** Removes what a page has stored and shows; false if it cannot be opened again. */
async function empty(page: Page): Promise<boolean> {
  const context = page.context();
  if (context.pages().length > 1 || !page.url().startsWith("http")) return false;
  if (!await signInAs(page, NO_ONE)) await page.goto("about:blank");
  await context.clearCookies();
  return true;
}

/** The session of a key without scopes, which is signed in while no test uses the page: the dashboard forgets all answers and asks for nothing. */
const NO_ONE = { access: "signed_in", key_id: "none", name: "no one", scopes: [], agent_id: null };

/** Opens an address in a page that was emptied, if it is of the same server, with the session of a token. Returns false if it has to be loaded. */
async function reopen(page: Page, url: string, token?: string): Promise<boolean> {
  const { origin, pathname, search, hash } = new URL(url);
  if (page.url() !== `${origin}/ui/none` || hash) return false;
  return await signInAs(page, { token, address: pathname + search });
}

/**
 * Has the dashboard see, as after a sign-in in another page, that another key is signed in: `NO_ONE`, or the one of a token.
 * Returns false if the page is not the dashboard's, or then asks for a key.
 */
function signInAs(
  page: Page,
  session: typeof NO_ONE | { token: string | undefined; address: string },
): Promise<boolean> {
  return page.evaluate(async (session) => {
    const window = globalThis as typeof globalThis & { ownFetch?: typeof fetch };
    localStorage.clear();
    sessionStorage.clear();
    if (!document.querySelector(".frame")) return false;
    const isNoOne = "key_id" in session;
    if (isNoOne) {
      window.ownFetch = fetch;
      window.fetch = (path) =>
        path === "/ui/session" ? Promise.resolve(Response.json(session)) : new Promise(() => {});
    } else {
      window.fetch = window.ownFetch!;
      if (session.token) localStorage.setItem("purser-session", session.token);
    }
    history.pushState(null, "", isNoOne ? "/ui/none" : session.address);
    const isShown = () =>
      isNoOne === (document.querySelector(".key-name")?.textContent === "no one") &&
      document.querySelector(".frame, .sign-in") !== null;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("The dashboard does not show another key")), 10_000);
      const observer = new MutationObserver(() => {
        if (!isShown()) return;
        observer.disconnect();
        clearTimeout(timer);
        // Its effects, which listen for the next change of the key, run after it was drawn.
        requestAnimationFrame(() => setTimeout(resolve));
      });
      observer.observe(document.body, { childList: true, characterData: true, subtree: true });
      dispatchEvent(new Event("storage"));
    });
    return document.querySelector(".sign-in") === null;
  }, session);
}

const REPORT_VIOLATIONS =
  `addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) =>
  console.error("policy: " + violatedDirective + " " + blockedURI + " " + sample));`;

/** Changes the address within the dashboard, as its links do: to load it anew takes five times as long. */
export async function changeAddress(page: Page, address: string): Promise<void> {
  await page.evaluate((address) => {
    history.pushState(null, "", address);
    dispatchEvent(new PopStateEvent("popstate"));
  }, address);
}

const LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

interface Shown {
  colorScheme: "light" | "dark";
  width: number;
}

/** All rules at each width, in light and dark. */
const EVERYWHERE: readonly Shown[] = (["light", "dark"] as const).flatMap((colorScheme) =>
  [1280, 640, 320].map((width) => ({ colorScheme, width }))
);

/** All rules once; the colours in the dark and the layout at the narrowest are those of the parts. */
const ONCE: readonly Shown[] = [{ colorScheme: "light", width: 1280 }];

/** The parts, in the gate: no colour depends on the width. */
const EXTREMES: readonly Shown[] = [...ONCE, { colorScheme: "dark", width: 320 }];

/** The widths at which nothing is cut off, besides 1280; 640 pixels are that at a zoom of 200%. */
const WIDTHS = isThorough ? [1024, 900, 768, 640, 320] : [640, 320];

/** The pages that were judged, and the parts that were on one of them. */
const judged = new Set<string>();

/** Returns the path of a page without ids, and the elements of its main part by their classes. */
function describeParts(page: Page): Promise<string[]> {
  return page.evaluate(() => [
    location.pathname.replaceAll(/\b[a-z]+_\w+/g, "ID"),
    ...new Set(
      [...document.querySelectorAll("main *, dialog[open] *")].map((element) =>
        `${element.localName} ${element.getAttribute("class")}`
      ),
    ),
  ]);
}

/**
 * Fails unless a page meets WCAG 2.2 AA as far as axe can judge, and shows all of each table at every width. A thorough run judges
 * each page in light and dark, wide and narrow. The gate does so with the page of all parts (`hasAllParts`); it judges each
 * other page once, and a state of it only if it has a part that was on no page before.
 */
export async function expectAccessible(page: Page, what = page.url(), hasAllParts = false): Promise<void> {
  const parts = await describeParts(page);
  if (!isThorough && parts.every((part) => judged.has(part))) return;
  for (const part of parts) judged.add(part);
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(axe.source);
  const shown = isThorough ? EVERYWHERE : hasAllParts ? EXTREMES : ONCE;
  for (const { colorScheme, width } of shown) {
    if (shown !== ONCE) await page.emulateMedia({ colorScheme });
    if (page.viewportSize()!.width !== width) await page.setViewportSize({ width, height: 800 });
    await expectNothingCut(page, what); // and its tables have followed the width, before axe measures them
    const found = await page.evaluate(async (levels) => {
      const { axe } = globalThis as unknown as { axe: typeof import("#dev/axe_core.ts").default };
      // Of what passes the rules are counted; it describes no nodes of them.
      const { violations, passes } = await axe.run(document, {
        runOnly: levels,
        ...{ resultTypes: ["violations"], selectors: false },
      });
      if (passes.length < 5) {
        return [`only ${passes.length} rules have found something to judge`];
      }
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
    }, LEVELS);
    assert.deepEqual(found, [], `${what}, ${colorScheme}, ${width} pixels`);
  }
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    await expectNothingCut(page, what);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  if (shown !== ONCE) await page.emulateMedia({ colorScheme: "light" });
}

/** Fails if the page is wider than its window, or a table than the box that it scrolls in: what is cut off may be a button. */
async function expectNothingCut(page: Page, what: string): Promise<void> {
  const cut = await page.evaluate(async () => {
    const listCut = () => [
      ...[document.documentElement].filter(({ scrollWidth }) => scrollWidth > innerWidth)
        .map(({ scrollWidth }) => `the page, ${scrollWidth - innerWidth} pixels`),
      ...[...document.querySelectorAll(".table-box > .table-scroll")]
        .filter(({ clientWidth, scrollWidth }) => scrollWidth > clientWidth)
        .map((box) => `${box.getAttribute("aria-label")}, ${box.scrollWidth - box.clientWidth} pixels`),
    ];
    // A table follows the width of the page once that has been drawn.
    for (let frame = 0; frame < 10 && listCut().length > 0; frame++) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    return listCut();
  });
  assert.deepEqual(cut, [], `${what}, ${page.viewportSize()!.width} pixels`);
}
