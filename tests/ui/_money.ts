import type { Page } from "#dev/playwright_core.ts";
import { FIXTURE_AT } from "../fixtures/providers/mod.ts";
import { EVENT } from "../harness/bodies.ts";
import type { PageOptions, TestPage } from "../harness/browser.ts";
import type { TestDashboard } from "../harness/dashboard.ts";
import type { TestPurser } from "../harness/test_purser.ts";

/** Opens a page at the time of the test's server, which stands still. */
export function openAt(
  { browser, url }: TestDashboard,
  path: string,
  options: PageOptions = {},
): Promise<TestPage> {
  return browser.open(url + path, { at: FIXTURE_AT, ...options });
}

/** Returns the requests for data, without the page and its live stream. */
export function dataRequests({ requests }: TestPage): string[] {
  return requests.filter((request) => !/^GET \/(ui\/|live)/.test(request)).sort();
}

/** A reported call with its cost; null has no price. */
export function call(id: string, at: string, agent: string, cost_usd: number | null, more: object = {}) {
  return {
    ...EVENT,
    call_id: id,
    at,
    agent_id: agent,
    session_id: `ses_${agent}`,
    model: cost_usd === null ? "house-7b" : "gpt-5",
    provider: cost_usd === null ? "acme" : "openai",
    ...(cost_usd !== null && { cost_usd }),
    ...more,
  };
}

/** Books calls of today and yesterday: $2 today, of four calls, one of them without a price. */
export async function bookCalls(purser: TestPurser): Promise<void> {
  const { status } = await purser.api("POST", "/costs/events", [
    call("1", "2026-10-31T10:00:00.000Z", "coder", 3),
    call("2", "2026-11-01T09:10:00.000Z", "researcher", 0.25, { provider: "anthropic", model: "claude-5" }),
    call("3", "2026-11-01T11:30:00.000Z", "support", 0.5),
    call("4", "2026-11-01T11:55:00.000Z", "researcher", 1.25),
    call("5", "2026-11-01T11:58:00.000Z", "support", null),
  ]);
  if (status !== 201) throw new Error(`The calls were not booked: ${status}`);
}

/** Returns the texts of a table's rows, its cells joined by " | ". */
export async function rowsOf(page: Page, caption: string): Promise<string[]> {
  const rows = page.getByRole("region", { name: caption, exact: true }).locator("tbody tr");
  await rows.first().waitFor();
  return await rows.evaluateAll((all) =>
    all.map((row) => [...row.children].map(({ textContent }) => textContent!.trim()).join(" | "))
  );
}

/** Returns the value and the note of a figure by its label. */
export async function statOf(page: Page, label: string): Promise<string> {
  const stat = page.locator(".stat").filter({ has: page.locator("dt", { hasText: label }) });
  await stat.waitFor();
  return (await stat.locator("dd").allTextContents()).join(" | ");
}
