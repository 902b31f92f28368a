import assert from "node:assert/strict";
import { SECTIONS } from "../../src/ui/app/sections.ts";
import { sharedBrowser, skipBrowser } from "../harness/browser.ts";
import { startSurroundings } from "../rest/surroundings.ts";
import { restTargets } from "../rest/targets.ts";

/** The whole dashboard against a server on a file, on a libSQL server, and at the edge. */

const SESSION = "ses_figures";

/** A figure of each section that comes from the call, the budget and the key of the test. */
const FIGURES: Readonly<Record<string, string>> = {
  "Now": "$1.25",
  "Costs": "$1.25",
  "Budgets & alerts": "$1.25",
  "Sessions": SESSION,
  "Keys & channels": "first",
};

/** The views that are not the first of their section. */
const OTHER_VIEWS = [
  ...["costs/compare", "costs/caching", "costs/coverage", "costs/forecast"],
  ...["budgets/alerts", "budgets/refusals", `sessions/${SESSION}`, `sessions/${SESSION}?tab=calls`],
  "keys/channels",
];

for (const { name, ignore, start } of restTargets) {
  Deno.test({
    name: `the dashboard signs in and shows its figures: ${name}`,
    ignore: ignore || skipBrowser,
    async fn() {
      await using surroundings = await startSurroundings();
      await using server = await start(surroundings.environment({ tools: false }));
      const post = async (path: string, body: unknown) => {
        const headers = { "content-type": "application/json", authorization: `Bearer ${server.key}` };
        const response = await fetch(server.url + path, {
          method: "POST",
          headers,
          body: JSON.stringify(body),
        });
        const answer = await response.json();
        assert.equal(response.status, 201, JSON.stringify(answer));
        return answer;
      };
      await post("/budgets", { name: "Day", limit_usd: 10, per: "day" });
      await post("/costs/events", [{
        call_id: "call_figures",
        at: new Date().toISOString(),
        agent_id: "reader",
        session_id: SESSION,
        provider: "openai",
        model: "gpt-5-mini",
        input_tokens: 1_000,
        output_tokens: 100,
        cost_usd: 1.25,
      }]);
      const { code } = await post("/ui/session/codes", undefined);

      const browser = await sharedBrowser();
      // Closing it fails on a violation of the policy, an error on the console, and a request to another origin.
      await using opened = await browser.open(`${server.url}/ui/#code=${code}`);
      const { page } = opened;
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      for (const { title } of SECTIONS) {
        await page.getByRole("link", { name: title, exact: true }).click();
        await page.getByRole("heading", { name: title, level: 1 }).waitFor();
        await page.getByRole("main").getByText(FIGURES[title]!).first().waitFor({ timeout: 10_000 });
      }
      for (const path of OTHER_VIEWS) {
        await page.goto(`${server.url}/ui/${path}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.waitForFunction(() => document.querySelector(".skeleton") === null);
        const text = await page.getByRole("main").innerText();
        assert.doesNotMatch(text, /Cannot show this|has this address/, `${path}: ${text}`);
        assert.ok(text.length > 40, `${path}: ${text}`);
      }
      assert.deepEqual(opened.faults, []);
    },
  });
}
