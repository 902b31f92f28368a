import assert from "node:assert/strict";
import { join } from "node:path";
import { bundleScript } from "../../build/bundle_ui.ts";
import { ROOT } from "../../build/run_deno.ts";
import { PAGE_HEADERS } from "../../src/http/middleware/response_headers.ts";
import { STYLE } from "../../src/ui/mod.ts";
import {
  changeAddress,
  expectAccessible,
  sharedBrowser,
  skipBrowser,
  type TestPage,
} from "../harness/browser.ts";
import { downloaded } from "./_downloads.ts";

/** The parts of the dashboard on a page of their own, over an API of the test. */

const PAGE =
  `<!doctype html><html lang="en"><head><title>Kit</title><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><link rel="stylesheet" href="/kit.css"><script type="module" src="/kit.js"></script>
</head><body><div id="app"></div></body></html>`;

const ROWS = [
  { name: "writer", calls: 12, cost_usd: 0.0042 },
  { name: "\u202eevil<img src=x>", calls: 3, cost_usd: null },
  { name: "researcher", calls: 812, cost_usd: 4.1 },
];

/** The pages of the rows as CSV: a page has an optional column only where one of its rows has a value. */
const CSV = [
  'name,calls\r\nwriter,12\r\n"a ""b"",\r\nc",3\r\n',
  "name,tag,calls\r\nresearcher,acme,812\r\n",
] as const;

/** Serves the kit, and answers its requests; `state` is what they change. */
function serveKit(script: string, state: { enabled: boolean; broken: boolean; reasons: string[] }) {
  const answer = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    const page = (text: string, type: string) =>
      new Response(text, { headers: { ...PAGE_HEADERS, "content-type": type } });
    if (pathname === "/kit.js") return page(script, "text/javascript");
    if (pathname === "/kit.css") return page(STYLE.text, "text/css");
    if (pathname === "/broken") {
      if (!state.broken) return Response.json([]);
      return Response.json({ code: "internal", detail: "Cannot read it: \u0007" }, { status: 500 });
    }
    if (pathname === "/rule") {
      if (request.method === "POST") {
        const { reason } = await request.json();
        if (reason === "none") return Response.json({ code: "conflict", detail: "Not so" }, { status: 409 });
        state.reasons.push(reason);
        state.enabled = !state.enabled;
      }
      return Response.json({ enabled: state.enabled });
    }
    if (pathname === "/rows") {
      const isFirst = !searchParams.has("cursor");
      const headers: HeadersInit = isFirst ? { link: '</rows?cursor=2>; rel="next"' } : {};
      if (request.headers.get("accept") === "text/csv") {
        return new Response(CSV[Number(!isFirst)], { headers });
      }
      return Response.json(isFirst ? ROWS.slice(0, 2) : ROWS.slice(2), { headers });
    }
    if (pathname === "/endless") {
      const [limit, start] = [Number(searchParams.get("limit")), Number(searchParams.get("cursor") ?? 0)];
      const numbers = Array.from({ length: limit }, (_, index) => start + index);
      const headers = { link: `</endless?limit=${limit}&cursor=${start + limit}>; rel="next"` };
      const kindOf = (number: number) => number % 2 === 0 ? "even" : "odd";
      if (request.headers.get("accept") !== "text/csv") {
        return Response.json({ list: numbers.map((number) => ({ number, kind: kindOf(number) })) }, {
          headers,
        });
      }
      const lines = numbers.map((number) => `${number},${kindOf(number)}\r\n`).join("");
      return new Response(`number,kind\r\n${lines}`, { headers });
    }
    return page(PAGE, "text/html");
  };
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, answer);
}

const names = ({ page }: TestPage) =>
  page.getByRole("region", { name: "Rows", exact: true }).locator("tbody tr td:first-child")
    .allTextContents();

Deno.test({
  name: "the parts of the dashboard",
  ignore: skipBrowser,
  async fn(t) {
    const state = { enabled: true, broken: true, reasons: [] as string[] };
    await using server = serveKit(await bundleScript(join(ROOT, "tests/ui/kit/kit.tsx")), state);
    const browser = await sharedBrowser();
    await using opened = await browser.open(`http://127.0.0.1:${server.addr.port}/ui/kit`);
    const { page } = opened;
    await page.getByRole("table", { name: "Rows" }).waitFor();

    await t.step(
      "meet WCAG 2.2 AA, in light and dark, wide and narrow, with the data of a chart open",
      async () => {
        await page.getByText("Data as a table").first().click();
        await expectAccessible(page, "the kit", true);
      },
    );

    await t.step("a time is of UTC, with the local one as its title, as on the axis of a chart", async () => {
      const time = page.locator("time").first();
      assert.equal(await time.getAttribute("datetime"), "2026-11-23T16:40:00.000Z");
      assert.match(
        await time.getAttribute("title") ?? "",
        /^2026-11-23 16:40 UTC · Nov 23, 2026, 10:10:00.PM GMT\+5:30$/,
      );
      const chart = page.getByRole("img", { name: /^Spend: / });
      assert.match(await chart.textContent() ?? "", /UTC/);
      await chart.focus();
      await page.keyboard.press("Home");
      await page.locator(".readout", { hasText: "2026-11-01 · Nov 1, 5:30 AM GMT+5:30" }).waitFor();
    });

    await t.step("a table sorts by the URL, with unpriced rows last, and adds pages", async () => {
      const evil = "\\u202eevil<img src=x>";
      assert.deepEqual(await names(opened), ["writer", evil]);
      await page.getByRole("button", { name: "Show more" }).click();
      await page.getByText("researcher", { exact: true }).last().waitFor();
      await page.getByRole("link", { name: "Cost" }).click();
      assert.equal(await page.locator("#query").textContent(), "sort=-cost_usd");
      assert.deepEqual(await names(opened), ["researcher", "writer", evil]);
      await page.getByRole("link", { name: "Cost" }).click();
      assert.deepEqual(await names(opened), ["writer", "researcher", evil]);
      const head = page.getByRole("columnheader", { name: "Cost" });
      assert.equal(await head.getAttribute("aria-sort"), "ascending");
      assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
      await page.goBack();
      assert.deepEqual(await names(opened), ["researcher", "writer", evil], "Back is the order before");
    });

    await t.step("a table downloads as CSV and as JSON, with all its pages", async () => {
      assert.equal(
        await downloaded(page, "CSV", "Rows"),
        'name,calls,tag\r\nwriter,12,\r\n"a ""b"",\r\nc",3,\r\nresearcher,812,acme\r\n',
      );
      assert.deepEqual(JSON.parse(await downloaded(page, "JSON", "Rows")), ROWS);
      assert.equal(await page.locator(".toasts").textContent(), "");
    });

    await t.step("a table of rows that the page has downloads them, and no cell is a formula", async () => {
      assert.equal(
        await downloaded(page, "CSV", "Limits of the kit"),
        "name,limit_usd,reaches_at\r\n'=1+1,0.000000001,\r\n" +
          `"'@SUM(A1),""x""",12.5,2026-11-23T16:40:00.000Z\r\n`,
      );
      assert.deepEqual(JSON.parse(await downloaded(page, "JSON", "Limits of the kit")), [
        { name: "=1+1", limit_usd: 1e-9 },
        { name: '@SUM(A1),"x"', limit_usd: 12.5, reaches_at: "2026-11-23T16:40:00.000Z" },
      ]);
    });

    await t.step("a long table is drawn in parts, in the order of all its rows", async () => {
      await changeAddress(page, "/ui/kit?endless=2500");
      const table = page.getByRole("region", { name: "Endless" }).last();
      const shown = async (range: string) => {
        await page.getByText(`Rows ${range} of 2,500`, { exact: true }).waitFor();
        const cells = await table.locator("tbody td").allTextContents();
        return [cells.length, cells[0], cells.at(-1)];
      };
      assert.deepEqual(await shown("1 to 1,000"), [1_000, "0", "999"]);
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByRole("button", { name: "Next" }).click();
      assert.deepEqual(await shown("2,001 to 2,500"), [500, "2000", "2499"]);
      assert.ok(await page.getByRole("button", { name: "Next" }).isDisabled());
      await table.getByRole("link", { name: "Number" }).click();
      await table.getByRole("link", { name: "Number" }).click();
      assert.deepEqual(await shown("1 to 1,000"), [1_000, "2499", "1500"]);
      await changeAddress(page, "/ui/kit");
    });

    await t.step("a download has the filters of the page, and says where it was cut", async () => {
      const lines = (await downloaded(page, "CSV", "Endless")).trimEnd().split("\r\n");
      assert.deepEqual([lines[0], lines.at(-1), lines.length], ["number,kind", "9998,even", 5_001]);
      await page.getByText("The list has more than 10,000 entries; the file is of the first of them")
        .waitFor();
      const list = JSON.parse(await downloaded(page, "JSON", "Endless"));
      assert.deepEqual([list.length, list.at(-1)], [5_000, { number: 9_998, kind: "even" }]);
      assert.equal(opened.requests.filter((request) => request.includes("/endless")).length, 2 * 20);
    });

    await t.step(
      "a chart is one tab stop, says its finding, and its points are reached by arrow keys",
      async () => {
        const chart = page.getByRole("img", { name: "Spend: $91 in 14 days, 62% researcher" });
        await chart.focus();
        const readout = page.getByRole("figure", { name: "Spend" }).locator("output");
        await page.keyboard.press("ArrowRight");
        assert.equal(await readout.textContent(), "2026-11-01 · Nov 1, 5:30 AM GMT+5:30");
        await page.keyboard.press("End");
        assert.equal(await readout.textContent(), "2026-11-14 · Nov 14, 5:30 AM GMT+5:30");
        await page.keyboard.press("ArrowLeft");
        await page.keyboard.press("Enter");
        await page.waitForURL(/\/ui\/costs\?day=2026-11-13$/);
        const data = page.getByRole("figure", { name: "Calls" });
        await data.getByText("Data as a table").click();
        await data.getByRole("row").nth(14).waitFor();
        assert.equal(await data.getByRole("row").count(), 15);
        assert.match((await data.getByRole("row").nth(4).textContent())!, /^2026-11-04\$4\.00–\$0\.50$/);
      },
    );

    await t.step("the series of a chart have patterns besides their colours, as in its legend", async () => {
      const { bars, keys, marks } = await page.getByRole("figure", { name: "Spend" }).evaluate((figure) => {
        const fills = (
          selector: string,
        ) => [...new Set([...figure.querySelectorAll(selector)].map((rect) => rect.getAttribute("fill")!))];
        const bars = fills(".chart-box rect[class^=series]");
        const markOf = (fill: string) =>
          document.getElementById(/#(.*)\)/.exec(fill)![1]!)!.querySelector("path")!.getAttribute("d");
        return { bars, keys: fills(".legend rect"), marks: new Set(bars.map(markOf)).size };
      });
      assert.equal(bars.length, 3);
      assert.deepEqual([keys, marks], [bars, 3]);
      const dashes = await page.getByRole("figure", { name: "Calls" }).evaluate((figure) =>
        ["path.line", ".legend path.line"].map((selector) =>
          [...figure.querySelectorAll(`${selector}`)].map((line) => getComputedStyle(line).strokeDasharray)
        )
      );
      assert.deepEqual(dashes[0]!.slice(0, 3), dashes[1]);
      assert.equal(new Set(dashes[1]).size, 3);
    });

    await t.step(
      "an action is confirmed once, says what it did, and refreshes the page; or says why not",
      async () => {
        await page.getByRole("button", { name: "Disable rule" }).click();
        const dialog = page.getByRole("dialog", { name: "Disable rule" });
        await dialog.getByRole("button", { name: "Cancel" }).click();
        assert.equal(await dialog.count(), 0);
        await page.getByRole("button", { name: "Disable rule" }).click();
        await dialog.getByLabel("Reason").fill("none");
        await dialog.getByRole("button", { name: "Disable rule" }).click();
        assert.equal(await dialog.getByRole("alert").textContent(), "Not so");
        await dialog.getByLabel("Reason").fill("release");
        await page.keyboard.press("Enter");
        await page.getByRole("button", { name: "Enable rule" }).waitFor();
        assert.deepEqual(state.reasons, ["release"]);
        assert.equal(await page.locator(".toasts").textContent(), "Changed the rule Day");
      },
    );

    await t.step("an error is shown escaped, and tried again", async () => {
      const part = page.getByRole("region", { name: "Broken" });
      await part.getByText("Cannot read it: \\x07").waitFor();
      state.broken = false;
      await part.getByRole("button", { name: "Try again" }).click();
      await part.getByText("Cannot read it").waitFor({ state: "detached" });
    });

    await t.step("figures stand in two columns on a phone", async () => {
      await page.setViewportSize({ width: 390, height: 800 });
      const tops = await page.locator(".stat").evaluateAll((all) =>
        all.map((stat) => stat.getBoundingClientRect().top)
      );
      assert.equal(tops.length, 2);
      assert.equal(tops[0], tops[1]);
      await page.setViewportSize({ width: 1280, height: 800 });
    });

    await t.step("filters are in the URL", async () => {
      await changeAddress(page, "/ui/kit?cursor=7");
      await page.getByRole("link", { name: "30 days" }).click();
      await page.getByRole("combobox", { name: "Agent" }).selectOption("a");
      assert.equal(await page.locator("#query").textContent(), "span=30d&agent=a");
      await page.reload();
      assert.equal(await page.getByRole("combobox", { name: "Agent" }).inputValue(), "a");
    });
  },
});
