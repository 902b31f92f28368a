import assert from "node:assert/strict";
import { SECTIONS } from "../../src/ui/app/sections.ts";
import { changeAddress, sharedBrowser, skipBrowser } from "../harness/browser.ts";
import { startSurroundings } from "../rest/surroundings.ts";
import { isThorough } from "../harness/thorough.ts";
import { restTargets } from "../rest/targets.ts";

/**
 * The whole dashboard against a server on a file and at the edge, and in a thorough run on a server of a database:
 * `tests/rest/` makes requests for the data of each page on all of them.
 */

const SESSION = "ses_figures";
/** A session with a log. */
const LOGGED = "ses_logged";

/** A figure of each section that comes from the call, the budget and the key of the test. */
const FIGURES: Readonly<Record<string, string>> = {
  "Now": "$1.25",
  "Costs": "$1.25",
  "Budgets & alerts": "$1.25",
  "Sessions": SESSION,
  "Sources": "$1.25",
  "Bills": "No bill yet",
  "Keys & channels": "first",
  "My spending": "$1.25",
};

/** The ids that the test has made. */
interface Made {
  budget: string;
  rule: string;
  alert: string;
  run: string;
}

/** The views that are not the first of their section, each with a figure of its own. */
const OTHER_VIEWS = ({ budget, rule, alert, run }: Made): [path: string, figure: string][] => [
  ["costs/compare", "$1.25"],
  ["costs/caching", "Hit rate"],
  ["costs/coverage", "have a price for all parts"],
  ["costs/forecast", "$1.25"],
  ["budgets/alerts", "Dear day"],
  [`budgets/alerts/${alert}`, "$1.25 in the window (UTC day) has reached the threshold of $1.00"],
  [`budgets/rules/${rule}`, "$1.25"],
  [`budgets/${budget}`, "$8.75"],
  ["budgets/refusals", "the limit is reached"],
  [`sessions/${SESSION}`, "$1.25"],
  [`sessions/${SESSION}?tab=calls`, "openai:gpt-5-mini"],
  [`sessions/${LOGGED}`, "run.completed"],
  [`sessions/${LOGGED}?tab=runs`, run],
  [`sessions/${LOGGED}?view=timeline`, "model.called"],
  ["keys/channels", "log"],
];

for (
  const { name, ignore, start } of restTargets.filter(({ isEdge, isCombination }) =>
    isThorough || !(isEdge || isCombination)
  )
) {
  Deno.test({
    name: `the dashboard signs in and shows its figures: ${name}`,
    ignore: ignore || skipBrowser,
    async fn() {
      await using surroundings = await startSurroundings();
      await using server = await start(surroundings.environment({ tools: false }));
      const send = async (method: string, path: string, expected: number, body?: unknown) => {
        const headers = { "content-type": "application/json", authorization: `Bearer ${server.key}` };
        const response = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) });
        const answer = await response.json();
        assert.equal(response.status, expected, JSON.stringify(answer));
        return answer;
      };
      const post = (path: string, body?: unknown, expected = 201) => send("POST", path, expected, body);
      const { budget_id: budget } = await post("/budgets", { name: "Day", limit_usd: 10, per: "day" });
      const { rule_id: rule } = await post("/alerts/rules", {
        name: "Dear day",
        threshold_type: "per_day_usd",
        threshold_usd: 1,
        severity: "info",
      });
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
      const [{ alert_id: alert }] = await send("GET", "/alerts/history", 200);
      await send("PUT", "/agents/logger", 201, { model: "demo:echo" });
      const { run_id: run } = await post("/agents/logger/runs", { input: "Hello", session_id: LOGGED }, 200);
      await post("/budgets", { name: "None", limit_usd: 0, per: "day", agent_id: "logger" });
      await post("/agents/logger/runs", { input: "No more", session_id: LOGGED }, 402);
      const { code } = await post("/ui/session/codes");

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
      for (const [path, figure] of OTHER_VIEWS({ budget, rule, alert, run })) {
        opened.requests.length = 0;
        await changeAddress(page, `/ui/${path}`);
        const shown = page.getByRole("main").getByText(figure).locator("visible=true");
        await shown.first().waitFor({ timeout: 10_000 });
        await page.waitForFunction(() => document.querySelector(".skeleton") === null);
        const text = await page.getByRole("main").innerText();
        assert.doesNotMatch(text, /Cannot show this|has this address/, `${path}: ${text}`);
        const requests = opened.requests.filter((request) => !/ \/(ui\/|live)/.test(request));
        assert.ok(requests.length <= 3, `${path}: ${requests.join(", ")}`);
      }
      assert.deepEqual(opened.faults, []);
    },
  });
}
