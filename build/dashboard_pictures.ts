/** `deno task screenshots`: takes the pictures of docs/dashboard.md, of the demo's month at a fixed time. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "#dev/playwright_core.ts";
import { serveDemo } from "../src/cli/demo/serve_demo.ts";
import { fixedClock } from "../src/kernel/clock.ts";
import { reducePng } from "./reduce_png.ts";
import { ROOT } from "./run_deno.ts";

/** A Wednesday afternoon. */
const AT = Date.parse("2026-11-18T14:40:00.000Z");
const SEED = 7;
const SIZE = { width: 1280, height: 860 };
/** The most bytes of a picture: a clone of the repository has them all. */
const MAX_PICTURE_BYTES = 120_000;

/** Returns the answer of the server that the page is at. */
type Ask = <Answer>(path: string) => Promise<Answer>;

interface Picture {
  name: string;
  theme: "light" | "dark";
  /** The path of its page. */
  path(ask: Ask): string | Promise<string>;
}

const PICTURES: readonly Picture[] = [
  { name: "now", theme: "light", path: () => "/ui/" },
  { name: "now_dark", theme: "dark", path: () => "/ui/" },
  { name: "costs", theme: "light", path: () => "/ui/costs" },
  { name: "budgets", theme: "light", path: () => "/ui/budgets" },
  { name: "sessions_dark", theme: "dark", path: () => "/ui/sessions" },
  { name: "replay", theme: "light", path: pathOfReplay },
];

const FOLDER = "docs/dashboard";

/** Returns the session that has called one tool again and again. */
async function pathOfReplay(ask: Ask): Promise<string> {
  const anomalies = await ask<{ kind: string; session_id: string }[]>("/anomalies");
  return `/ui/sessions/${anomalies.find(({ kind }) => kind === "repeated_tool_call")!.session_id}`;
}

/** Opens a page, and waits until it has its data. */
async function openPage(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForFunction(() =>
    document.querySelector(".skeleton") === null && document.querySelector("h1") !== null
  );
  await page.waitForTimeout(300);
}

async function takePictures(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser_pictures_" });
  const server = await serveDemo({
    db: join(folder, "purser.db"),
    clock: fixedClock(AT),
    seed: SEED,
    port: 0,
  });
  const executablePath = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((path) =>
    existsSync(path)
  );
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  const context = await browser.newContext({
    viewport: SIZE,
    reducedMotion: "reduce",
    locale: "en-US",
    timezoneId: "UTC",
  });
  try {
    const page = await context.newPage();
    await page.clock.setFixedTime(AT);
    await page.goto(await server.signInUrl());
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    const ask: Ask = async (path) => {
      const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${server.key}` } });
      return await response.json();
    };
    await Deno.mkdir(join(ROOT, FOLDER), { recursive: true });
    for (const picture of PICTURES) {
      await page.emulateMedia({ colorScheme: picture.theme });
      await openPage(page, server.url + await picture.path(ask));
      const png = reducePng(await page.screenshot());
      if (png.length > MAX_PICTURE_BYTES) throw new Error(`${picture.name} has ${png.length} bytes`);
      await Deno.writeFile(join(ROOT, FOLDER, `${picture.name}.png`), png);
      console.log(`${FOLDER}/${picture.name}.png  ${png.length} bytes`);
    }
  } finally {
    await browser.close();
    await server.close();
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await takePictures();
