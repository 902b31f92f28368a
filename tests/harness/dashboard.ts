import { withAccessCheck } from "../../src/http/server/mod.ts";
import { listen } from "../../src/http/server/mod.ts";
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
      const server = await listen(purser.core, withAccessCheck(purser.core, purser.app), {
        host: "127.0.0.1",
        port: 0,
      });
      try {
        const browser = await sharedBrowser();
        for (const [step, test] of Object.entries(steps)) {
          await t.step(step, () => test({ purser, browser, url: server.url }));
        }
      } finally {
        await server.shutdown({ graceMs: 0 });
      }
    },
  });
}
