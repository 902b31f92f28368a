import assert from "node:assert/strict";
import type { TestPage } from "../harness/browser.ts";
import type { TestDashboard } from "../harness/dashboard.ts";

/** A Wednesday. */
export const NOW = Date.parse("2026-11-25T12:30:00.000Z");
const HOSTILE = "\u202e<img src=x onerror=alert(1)>";

/** Calls of a week, by two agents. */
export const CALLS = [
  { at: "2026-11-18T09:00:00.000Z", agent_id: "researcher", provider: "acme", model: "alpha", cost_usd: 1 },
  { at: "2026-11-24T10:00:00.000Z", agent_id: "researcher", provider: "acme", model: "alpha", cost_usd: 1.5 },
  {
    at: "2026-11-25T09:00:00.000Z",
    agent_id: "researcher",
    provider: "acme",
    model: "alpha",
    cost_usd: 0.25,
  },
  {
    at: "2026-11-25T10:00:00.000Z",
    agent_id: "support",
    provider: "acme",
    model: HOSTILE,
    cost_usd: 0.125,
    estimated: true,
  },
  { at: "2026-11-25T11:00:00.000Z", agent_id: "support", provider: "acme", model: "unknown" },
  {
    at: "2026-11-25T11:30:00.000Z",
    agent_id: "support",
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    cache_read_tokens: 800,
  },
].map((call, index) => ({
  call_id: `call-${index}`,
  session_id: `ses-${call.agent_id}`,
  run_id: `run-${call.agent_id}-${index}`,
  input_tokens: 1000,
  output_tokens: 100,
  tags: { customer: index < 3 ? "acme" : "globex", ...index === 3 && { env: "staging" } },
  ...call,
}));

/** Books the calls. */
export async function bookCalls({ purser }: Pick<TestDashboard, "purser">): Promise<void> {
  const { body } = await purser.api("POST", "/costs/events", CALLS);
  assert.equal(body.booked, CALLS.length);
}

/** Opens a page of the section at the time of the calls. */
export async function open({ browser, url }: TestDashboard, path: string): Promise<TestPage> {
  const opened = await browser.open(`${url}/ui/costs${path}`, { at: NOW });
  await opened.page.locator("main .card").first().waitFor();
  return opened;
}

/** Returns the rows of a table, as the text of their cells; amounts are exact. */
export function rowsOf({ page }: TestPage, caption: string): Promise<string[][]> {
  return page.getByRole("region", { name: caption, exact: true }).locator("tbody tr").evaluateAll((rows) =>
    rows.map((row) =>
      [...row.querySelectorAll("td, th")].map((cell) =>
        cell.querySelector("data")?.getAttribute("value") ?? cell.textContent ?? ""
      )
    )
  );
}

/** Returns the figure with a name, exact if it is an amount. */
export async function figure({ page }: TestPage, label: string): Promise<string> {
  const stat = page.locator(".stat", { has: page.getByText(label, { exact: true }) }).locator(".stat-value");
  await stat.first().waitFor();
  const amount = stat.locator("data");
  return (await amount.count() > 0 ? await amount.getAttribute("value") : await stat.textContent()) ?? "";
}

/** Returns an answer of the API. */
// deno-lint-ignore no-explicit-any -- the body of any route
export async function ask({ purser }: TestDashboard, path: string): Promise<any> {
  return (await purser.api("GET", path)).body;
}

/** Fails if a page has sent more than three requests for its figures. */
export function expectFewRequests({ requests }: TestPage): void {
  const own = requests.filter((request) => !/ \/(ui\/|live)/.test(request));
  assert.ok(own.length >= 1 && own.length <= 3, own.join("\n"));
}
