import assert from "node:assert/strict";
import { join } from "node:path";
import { bundleScript } from "../../build/bundle_ui.ts";
import { ROOT } from "../../build/run_deno.ts";
import { PAGE_HEADERS } from "../../src/http/middleware/response_headers.ts";
import { sharedBrowser, skipBrowser, type TestPage } from "../harness/browser.ts";

/** The connection of the live figures, over a stream that the test writes. */

const PAGE = `<!doctype html><html lang="en"><head><title>Live</title><link rel="icon" href="data:,">
<script type="module" src="/live.js"></script></head><body><div id="app"></div></body></html>`;

const spend = (cost_usd: number) => ({
  cost_usd,
  model_calls: 1,
  unpriced_calls: 0,
  usd_per_minute: 0,
  minutes: [],
});
const STATE = {
  at: "2026-11-23T21:30:00.000Z",
  day: "2026-11-23",
  spend: spend(1),
  running: 0,
  agents: [],
  models: [],
  runs: [],
  alerts: [],
  refusals: [],
  budgets: [],
  rules: [],
  anomalies: [],
};

interface Stream {
  send(event: string, data: unknown): void;
  comment(): void;
  end(): void;
  isClosed: boolean;
}

/** Serves the page, and streams that the test writes to. */
function serveLive(script: string, port = 0) {
  const streams: Stream[] = [];
  const polls: string[] = [];
  const answer = (request: Request): Response => {
    const { pathname, search } = new URL(request.url);
    if (pathname === "/live" && search !== "") {
      polls.push(search);
      return Response.json({ ...STATE, spend: spend(polls.length + 100) });
    }
    if (pathname === "/live") {
      let controller!: ReadableStreamDefaultController<Uint8Array>;
      const body = new ReadableStream<Uint8Array>({
        start: (given) => void (controller = given),
        cancel: () => void (stream.isClosed = true),
      });
      const stream: Stream = {
        isClosed: false,
        send: (event, data) =>
          controller.enqueue(
            new TextEncoder().encode(`id: 1\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
          ),
        comment: () => controller.enqueue(new TextEncoder().encode(":\n\n")),
        end: () => controller.close(),
      };
      stream.send("state", STATE);
      streams.push(stream);
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    }
    const type = pathname === "/live.js" ? "text/javascript" : "text/html";
    return new Response(type === "text/html" ? PAGE : script, {
      headers: { ...PAGE_HEADERS, "content-type": type },
    });
  };
  const server = Deno.serve({ port, hostname: "127.0.0.1", onListen() {} }, answer);
  return { streams, polls, server, url: `http://127.0.0.1:${server.addr.port}/page` };
}

const shows = ({ page }: TestPage, text: string) => page.locator("output", { hasText: text }).waitFor();
const isSaid = ({ page }: TestPage, text: string) => page.locator(".live-text", { hasText: text }).waitFor();

/** Polls a condition of the server, while the clock of the page advances by `runMs` each time. */
async function until({ page }: TestPage, holds: () => boolean, runMs = 0): Promise<void> {
  for (let round = 0; !holds(); round++) {
    assert.ok(round < 2_000, "the condition has not been met");
    await (runMs > 0 ? page.clock.runFor(runMs) : page.evaluate(() => 0));
  }
}

Deno.test({
  name: "the live figures",
  ignore: skipBrowser,
  async fn(t) {
    const script = await bundleScript(join(ROOT, "tests/ui/kit/live.tsx"));
    const browser = await sharedBrowser();
    const step = (name: string, run: (live: ReturnType<typeof serveLive>) => Promise<void>) =>
      t.step(name, async () => {
        const live = serveLive(script);
        await run(live).finally(() => live.server.shutdown());
      });

    await step("show the whole state, and then each change", async ({ url, streams }) => {
      await using opened = await browser.open(url);
      await shows(opened, "$1.00, 0 agents");
      await isSaid(opened, "Live");
      streams[0]!.send("delta", { at: STATE.at, spend: spend(2), agents: [{ agent_id: "a", cost_usd: 2 }] });
      await shows(opened, "$2.00, 1 agents");
    });

    await step("connect again after a stream has ended", async ({ url, streams }) => {
      await using opened = await browser.open(url, { hasClock: true });
      await shows(opened, "$1.00");
      await opened.page.clock.runFor(20_000);
      streams[0]!.end();
      await until(opened, () => streams.length === 2, 1_000);
      streams[1]!.send("delta", { at: STATE.at, spend: spend(3) });
      await shows(opened, "$3.00");
      await isSaid(opened, "Live");
    });

    await step("poll where two streams in a row end within 10 seconds", async ({ url, streams, polls }) => {
      await using opened = await browser.open(url, { hasClock: true });
      for (let ended = 0; ended < 2; ended++) {
        await until(opened, () => streams.length > ended, 20); // the page sees the end before 10 s have passed
        streams[ended]!.end();
      }
      await until(opened, () => polls.length === 2, 1_000);
      await isSaid(opened, "Live, every 5 s");
      await shows(opened, "$102.00");
      assert.deepEqual([streams.length, polls[0]], [2, "?once=true"]);
    });

    await step("say that they are old where nothing arrives any more", async ({ url, streams }) => {
      await using opened = await browser.open(url, { hasClock: true });
      await shows(opened, "$1.00");
      await opened.page.clock.runFor(41_000);
      await isSaid(opened, "Not live");
      streams[0]!.send("delta", { at: STATE.at, spend: spend(4) });
      await isSaid(opened, "Live");
    });

    await step("stay current in all pages of a browser where nothing changes", async ({ url, streams }) => {
      await using first = await browser.open(url, { hasClock: true });
      await shows(first, "$1.00");
      const second = await browser.open(url, { hasClock: true, context: first.page.context() });
      await shows(second, "$1.00");
      for (let seconds = 0; seconds < 60; seconds += 15) {
        await first.page.clock.runFor(15_000);
        await second.page.clock.runFor(15_000);
        const sentAt = await second.page.evaluate(() => Date.now());
        const heard = second.page.locator(".heard");
        // The clock of the first page, which hears it, may be a little behind that of the second.
        for (let round = 0; Number(await heard.textContent()) < sentAt; round++) {
          assert.ok(round < 2_000);
          streams[0]!.comment();
        }
      }
      await isSaid(second, "Live");
      await second[Symbol.asyncDispose]();
    });

    await step(
      "say so soon where the server can't be reached, and connect again when it can",
      async ({ url, streams, server }) => {
        await using opened = await browser.open(url, { hasClock: true });
        await shows(opened, "$1.00");
        await opened.page.clock.runFor(20_000);
        streams[0]!.end();
        await server.shutdown();
        const sign = opened.page.locator(".live-text");
        for (let waitedMs = 0; await sign.textContent() !== "Not live"; waitedMs += 100) {
          assert.ok(waitedMs < 20_000, "the sign still says that the figures are current");
          await opened.page.clock.runFor(100);
        }
        const again = serveLive(script, Number(new URL(url).port));
        try {
          await until(opened, () => again.streams.length + again.polls.length > 0, 100);
          await isSaid(opened, "Live");
          assert.deepEqual([again.streams.length, again.polls], [1, []]);
        } finally {
          again.streams[0]?.end();
          await again.server.shutdown();
        }
      },
    );

    await step("stop while they are paused", async ({ url, streams }) => {
      await using opened = await browser.open(url);
      await shows(opened, "$1.00");
      await opened.page.getByRole("button", { name: "Pause" }).click();
      await isSaid(opened, "Paused");
      await until(opened, () => streams[0]!.isClosed);
      await opened.page.getByRole("button", { name: "Resume" }).click();
      await isSaid(opened, "Live");
      assert.equal(streams.length, 2);
    });

    await step("have no stream while the page is hidden", async ({ url, streams }) => {
      await using opened = await browser.open(url);
      await shows(opened, "$1.00");
      // A browser without a screen hides no page by itself.
      const become = (visibility: "hidden" | "visible") =>
        opened.page.evaluate((visibility) => {
          Object.defineProperty(document, "visibilityState", { value: visibility, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }, visibility);
      await become("hidden");
      await until(opened, () => streams[0]!.isClosed);
      assert.equal(streams.length, 1);
      await become("visible");
      await until(opened, () => streams.length === 2);
      await isSaid(opened, "Live");
    });

    await step("are not those of a page with another key", async ({ url, streams }) => {
      await using first = await browser.open(`${url}?key=key_1`);
      await shows(first, "$1.00");
      const second = await browser.open(`${url}?key=key_2`, { context: first.page.context() });
      await shows(second, "$1.00");
      assert.equal(streams.length, 2);
      streams[0]!.send("delta", { at: STATE.at, spend: spend(7) });
      await shows(first, "$7.00");
      streams[1]!.send("delta", { at: STATE.at, spend: spend(8) });
      await shows(second, "$8.00");
      await second[Symbol.asyncDispose]();
    });

    await step(
      "are one stream for all pages of a browser, also when its page closes",
      async ({ url, streams }) => {
        await using first = await browser.open(url);
        await shows(first, "$1.00");
        const context = first.page.context();
        const second = await browser.open(url, { context });
        await shows(second, "$1.00");
        streams[0]!.send("delta", { at: STATE.at, spend: spend(5) });
        await shows(second, "$5.00");
        assert.equal(streams.length, 1);
        await first.page.goto("about:blank");
        await until(second, () => streams.length === 2);
        streams[1]!.send("delta", { at: STATE.at, spend: spend(6) });
        await shows(second, "$6.00");
        await second[Symbol.asyncDispose]();
      },
    );
  },
});
