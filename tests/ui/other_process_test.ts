import assert from "node:assert/strict";
import { sharedBrowser, skipBrowser } from "../harness/browser.ts";
import { newPlace, purser, startServer } from "../harness/cli_process.ts";
import { isThorough } from "../harness/thorough.ts";

Deno.test({
  name: "the home page shows the call of another process within two seconds",
  // In the gate, `tests/live_test.ts` shows it of the server, and `now_test.ts` of the page.
  ignore: skipBrowser || !isThorough,
  async fn() {
    await using place = await newPlace();
    const report = async (id: string, usd: number) => {
      const call = {
        call_id: id,
        at: new Date().toISOString(),
        agent_id: "reader",
        provider: "openai",
        model: "gpt-5-mini",
        input_tokens: 1_000,
        output_tokens: 100,
        cost_usd: usd,
      };
      const { code, err } = await purser(place, ["report", "-"], JSON.stringify(call) + "\n");
      assert.equal(code, 0, err);
    };
    await report("call_first", 1.25);
    await using server = await startServer(place);
    const browser = await sharedBrowser();
    await using opened = await browser.open(`${server.url}/ui/`);
    const { page } = opened;
    await page.getByRole("main").getByText("$1.25").first().waitFor();
    await report("call_second", 2.5);
    const booked = performance.now();
    await page.getByRole("main").getByText("$3.75").first().waitFor();
    const tookMs = performance.now() - booked;
    assert.ok(tookMs < 2_000, `${Math.round(tookMs)} ms`);
  },
});
