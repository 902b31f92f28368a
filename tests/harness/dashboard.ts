import { type Handler, listen, withAccessCheck } from "../../src/http/server/mod.ts";
import { sharedBrowser, skipBrowser, type TestBrowser } from "./browser.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "./test_purser.ts";

/** A server with the dashboard, and a browser. */
export interface TestDashboard {
  purser: TestPurser;
  browser: TestBrowser;
  /** The address of the server. */
  url: string;
}

/**
 * Registers the tests of a file as the steps of one test, over one server and one browser: to start a browser takes longer
 * than most of them.
 */
export function testDashboard(
  name: string,
  options: TestOptions,
  steps: Readonly<Record<string, (dashboard: TestDashboard) => Promise<void>>>,
): void {
  Deno.test({
    name,
    ignore: skipBrowser,
    async fn(t) {
      await using purser = await openTestPurser(options);
      const { handle, browser } = watchStreams(
        withAccessCheck(purser.core, purser.app),
        await sharedBrowser(),
      );
      const server = await listen(purser.core, handle, { host: "127.0.0.1", port: 0 });
      try {
        for (const [step, test] of Object.entries(steps)) {
          await t.step(step, () => test({ purser, browser, url: server.url }));
        }
      } finally {
        await server.shutdown({ graceMs: 0 });
      }
    },
  });
}

/**
 * The clock of the server stands still, and a stream that joins another gets what that one has got. So a page is opened only
 * once the streams of those that were closed have ended.
 */
function watchStreams(answer: Handler, browser: TestBrowser): { handle: Handler; browser: TestBrowser } {
  const streams = new Set<Promise<void>>();
  let pages = 0;
  return {
    async handle(...request) {
      const response = await answer(...request);
      if (response.headers.get("content-type") !== "text/event-stream") return response;
      const { readable, writable } = new TransformStream();
      const ended = response.body!.pipeTo(writable).catch(() => {}).finally(() => streams.delete(ended));
      streams.add(ended);
      return new Response(readable, response);
    },
    browser: {
      ...browser,
      async open(...page) {
        while (pages === 0 && streams.size > 0) await Promise.race(streams);
        const opened = await browser.open(...page);
        pages++;
        return {
          ...opened,
          async [Symbol.asyncDispose]() {
            try {
              await opened[Symbol.asyncDispose]();
            } finally {
              pages--;
            }
          },
        };
      },
    },
  };
}
