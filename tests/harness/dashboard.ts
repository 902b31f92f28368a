import { type Handler, listen, type Listening, withAccessCheck } from "../../src/http/server/mod.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { sharedBrowser, skipBrowser, type TestBrowser } from "./browser.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "./test_purser.ts";

/** A server with the dashboard, and a browser. */
export interface TestDashboard {
  purser: TestPurser;
  browser: TestBrowser;
  /** The address of the server. */
  url: string;
}

/** Answers as the Purser of the test that runs. */
let handler: Handler;
let server: Promise<Listening> | undefined;

/** Returns the server of all tests of a module: a page that was opened at its address needs no load for the next test. */
function sharedServer(): Promise<Listening> {
  return server ??= listen({ clock: systemClock, log: silentLog }, (...request) => handler(...request), {
    host: "127.0.0.1",
    port: 0,
  });
}

Deno.test.afterAll(async () => await (await server)?.shutdown({ graceMs: 0 }));

/**
 * Registers the tests of a file as the steps of one test, over one Purser and one browser: to start a browser takes longer
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
      await using purser = await openTestPurser({ ...options, isChecked: false });
      const { handle, browser, ended } = watchStreams(
        withAccessCheck(purser.core, purser.app),
        await sharedBrowser(),
      );
      handler = handle;
      const { url } = await sharedServer();
      for (const [step, test] of Object.entries(steps)) {
        await t.step(step, () => test({ purser, browser, url }));
      }
      await ended();
    },
  });
}

/**
 * Watches the streams of pages. The clock of the server stands still, and a stream that joins another gets what that one has
 * got: so a page is opened only once the streams of those that were closed have ended.
 */
function watchStreams(answer: Handler, browser: TestBrowser) {
  const streams = new Set<PromiseLike<void>>();
  let pages = 0;
  const ended = async () => {
    while (pages === 0 && streams.size > 0) await Promise.race(streams);
  };
  return {
    ended,
    async handle(...request: Parameters<Handler>) {
      const response = await answer(...request);
      if (response.headers.get("content-type") !== "text/event-stream") return response;
      const { readable, writable } = new TransformStream();
      const forget = () => void streams.delete(end);
      const end = response.body!.pipeTo(writable).then(forget, forget);
      streams.add(end);
      return new Response(readable, response);
    },
    browser: {
      ...browser,
      async open(...page: Parameters<TestBrowser["open"]>) {
        await ended();
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
