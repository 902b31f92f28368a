import assert from "node:assert/strict";
import type { TestPage } from "../harness/browser.ts";
import type { TestDashboard } from "../harness/dashboard.ts";

export const HOSTILE = "\u202e<img src=x onerror=alert(1)>\u0007 17 * 23";

/** Opens a page of the section. */
export async function open({ browser, url }: TestDashboard, path: string): Promise<TestPage> {
  const opened = await browser.open(`${url}/ui/sessions${path}`);
  await opened.page.locator("main .card").first().waitFor();
  return opened;
}

/** Makes two runs of a tool in the session `first`, and one that ends at its budget in `second`. */
export async function makeRuns({ purser }: Pick<TestDashboard, "purser">): Promise<void> {
  await purser.api("PUT", "/agents/helper", { model: "demo:echo", tools: ["calculator"] });
  await purser.api("PUT", "/agents/looper", {
    model: "demo:loop",
    tools: ["calculator"],
    cost_budget_usd: 0.0003,
  });
  for (const input of ["What is 17 * 23?", HOSTILE]) {
    const { status } = await purser.api("POST", "/agents/helper/runs", { input, session_id: "first" });
    assert.equal(status, 200);
  }
  await purser.api("POST", "/agents/looper/runs", { input: "Calculate", session_id: "second" });
}
