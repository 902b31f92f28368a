import assert from "node:assert/strict";
import { main } from "../../src/cli/mod.ts";
import { createApiClient } from "../../src/client/mod.ts";
import { RULE_FIELDS } from "../../src/contract/alerts/alert_rules.ts";
import { BUDGET_FIELDS } from "../../src/contract/budgets/budgets.ts";
import { ApiKeyBody } from "../../src/contract/keys.ts";
import { createKey, createWebSession } from "../../src/keys/mod.ts";
import { BUDGET, KEY, type Resource, RESOURCES, RULE } from "../../src/ui/forms/resources.ts";
import { expectAccessible, type TestPage } from "../harness/browser.ts";
import { type TestDashboard, testDashboard } from "../harness/dashboard.ts";
import { memoryTerminal } from "../harness/memory_terminal.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { call, openAt } from "./_money.ts";

/** The forms of what people write: one generator, looped over its table. */

/** The texts that the test fills in by the label of a field, and then changes; 'true' checks a box. `shown` is what the page has of the change. */
const EXAMPLES: Readonly<
  Record<string, { page: string; name?: string; add: Filled; edit: Filled; shown: string }>
> = {
  budget: {
    page: "/ui/budgets",
    add: {
      "Name": "Anna's team",
      "Limit in USD": "200.5",
      "Window": "lifetime",
      "A counter for each": "tag:user",
      "Only calls with tags": "team=search\nnote=a b",
      "Warn at": "50%, 99.5%",
      "Only of model": "claude-opus-*",
      "Only of source": "gateway",
      "Mode": "strict",
      "Counts from": "2026-10-01",
      "Allow models without a price": "true",
    },
    edit: {
      "Limit in USD": "300",
      "Window": "week",
      "Warn at": "",
      "Only of model": "",
      "Counts from": "",
      "Time zone": "Europe/Berlin",
      "Weeks begin on": "sunday",
      "Allow models without a price": "",
    },
    shown: "$300",
  },
  rule: {
    page: "/ui/budgets",
    add: {
      "Name": "Dear hour",
      "Measures": "per_hour_usd",
      "Threshold in USD": "2.5",
      "Severity": "critical",
      "A counter for each": "tag:user",
      "Only of agent": "researcher",
      "While it stays exceeded": "once_per_window",
      "Cooldown in seconds": "60",
    },
    edit: { "Threshold in USD": "5", "Only of agent": "" },
    shown: "$5.00",
  },
  key: {
    page: "/ui/keys",
    add: {
      "Name": "anna",
      "read": "true",
      "Tags of its calls": "user=anna\nteam=search",
      "Stop before a plan's paid credits": "true",
      "Expires": "2027-03-01",
      "Only for models": "claude-*\ngpt-6-luna",
    },
    edit: { "Tags of its calls": "user=anna.k", "Stop before a plan's paid credits": "" },
    shown: "user=anna.k",
  },
  price: {
    page: "/ui/costs/coverage",
    name: "acme:house-7b flex from 2026-11-01",
    add: {
      "Provider": "acme",
      "Model": "house-7b",
      "Input, USD per million tokens": "0.25",
      "Output, USD per million tokens": "1",
      "Cached tokens that are read": "0.1",
      "Only of service tier": "flex",
      "Only from day (UTC)": "2026-11-01",
    },
    edit: { "Output, USD per million tokens": "1.5", "Cached tokens that are read": "" },
    shown: "$1.50",
  },
};

type Filled = Readonly<Record<string, string>>;

async function fill({ page }: TestPage, filled: Filled): Promise<void> {
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  const more = dialog.locator(".more-fields:not([open]) summary");
  if (await more.count() > 0) await more.click();
  for (const [label, value] of Object.entries(filled)) {
    const field = dialog.getByLabel(label, { exact: true });
    const type = await field.evaluate((element) => (element as HTMLInputElement).type);
    if (type === "checkbox") await field.setChecked(value !== "");
    else if (type === "select-one") await field.selectOption(value);
    else await field.fill(value);
  }
}

/** Runs the command that the dialog shows on another database. */
async function runShown({ page }: TestPage, { app }: TestPurser): Promise<void> {
  const line = await page.getByRole("dialog").locator(".as-command pre").textContent() ?? "";
  const words = line.replaceAll("'\\''", "\0").match(/(?:'[^']*'|\S)+/g)!.map((word) =>
    word.replaceAll("'", "").replaceAll("\0", "'")
  );
  const send = async (request: Request) => await app.request(request);
  const terminal = memoryTerminal();
  const code = await main(words.slice(1), {
    terminal,
    env: { PURSER_DB: ":memory:" },
    connect: () =>
      Promise.resolve({
        api: createApiClient({ baseUrl: "http://purser.invalid", send }),
        send,
        kind: "remote",
        where: "memory",
        close: () => Promise.resolve(),
      }),
  });
  assert.equal(code, 0, `${line}: ${terminal.err}`);
}

/** Returns the fields that an author has set of those with a name, as the API has them. */
async function authored({ path, fields }: Resource, { api }: TestPurser, name: string) {
  const rows: Record<string, unknown>[] = (await api("GET", path)).body;
  return rows.filter((row) => row.name === name && row.status !== "revoked")
    .map((row) => Object.fromEntries(fields.map(({ name }) => [name, row[name]])));
}

let admins = 0;

async function openAsAdmin({ purser, browser, url }: TestDashboard, path: string, options = {}) {
  const scopes = ["admin" as const];
  const made = await createKey(purser.core, {
    name: `ops ${++admins}`,
    scopes,
    agentId: null,
    expiresAt: null,
  });
  const { token } = await createWebSession(purser.core, { keyId: made.key_id, scopes, agentId: null });
  const opened = await openAt({ purser, browser, url }, path, { session: token, ...options });
  await opened.page.locator("main .card").first().waitFor();
  return { opened, page: opened.page, key: made.key, dialog: opened.page.getByRole("dialog") };
}

const toast = ({ page }: TestPage, text: string) => page.locator(".toast", { hasText: text }).waitFor();

Deno.test("the forms have every field that an author sets; enabled has buttons", () => {
  const names = ({ fields }: Resource) => fields.map(({ name }) => name).sort();
  const without = (fields: readonly string[]) => fields.filter((name) => name !== "enabled").toSorted();
  assert.deepEqual(names(BUDGET), without(BUDGET_FIELDS));
  assert.deepEqual(names(RULE), without(RULE_FIELDS));
  assert.deepEqual(names(KEY), without(Object.keys(ApiKeyBody.shape)));
});

testDashboard("the forms", {}, {
  async "add, change and remove each kind, as do the commands that they show"(dashboard) {
    await using other = await openTestPurser({ isChecked: false });
    for (const resource of RESOURCES) {
      const { noun, removal } = resource;
      const { page: path, add, edit, shown, name = add.Name! } = EXAMPLES[noun]!;
      const hasPage = resource === BUDGET || resource === RULE;
      const { opened, page, dialog, key } = await openAsAdmin(dashboard, path);
      await using _ = opened;
      const both = async () =>
        await Promise.all([dashboard.purser, other].map((purser) => authored(resource, purser, name)));
      const submit = (label: string) => dialog.getByRole("button", { name: label, exact: true }).click();

      await page.getByRole("button", { name: `Add ${noun}` }).press("Enter");
      await fill(opened, add);
      await runShown(opened, other);
      if (resource === KEY) {
        await dialog.getByLabel("Your API key").fill(key);
        await expectAccessible(page, "the form of a key");
      }
      await submit(`Add ${noun}`);
      await toast(opened, `Added the ${noun} ${name}`);
      if (resource === KEY) {
        const secret = await dialog.getByRole("region", { name: "The new key" }).textContent();
        assert.match(secret!, /^psr_/);
        assert.ok(
          !await page.evaluate((text) => JSON.stringify({ ...localStorage }).includes(text!), secret),
        );
        await submit("Close");
        await page.getByText(secret!).waitFor({ state: "detached" });
      } else if (hasPage) {
        await page.getByRole("main").getByRole("link", { name, exact: true }).click();
      }
      const [made, commanded] = await both();
      assert.equal(made!.length, 1);
      assert.deepEqual(made, commanded);

      const row = hasPage
        ? page.getByRole("main")
        : page.locator("tbody tr", { has: page.getByText(name, { exact: true }) });
      await row.getByRole("button", { name: "Edit", exact: true }).click();
      if (resource === KEY) await dialog.getByLabel("Your API key").fill(key);
      await submit("Edit");
      await dialog.getByText("nothing is different").waitFor();
      await fill(opened, edit);
      await runShown(opened, other);
      await submit("Edit");
      // It limits what a key spends that bears the tags.
      const isOfTags = "Only calls with tags" in add && resource === BUDGET;
      const again = async (label: string) => {
        if (!isOfTags) return;
        await dialog.getByLabel("Your API key").fill(key);
        await submit(label);
      };
      await again("Edit");
      await toast(opened, `Changed the ${noun} ${name}`);
      const [changed, changedByCommand] = await both();
      assert.notDeepEqual(changed, made);
      assert.deepEqual(changed, changedByCommand);

      // A dialog that opens before the page has read the change again is refused: it would be about the values before.
      await row.getByText(shown).first().waitFor();
      await row.getByRole("button", { name: removal.label, exact: true }).click();
      await runShown(opened, other);
      await submit(removal.label);
      await again(removal.label);
      await toast(opened, `${removal.done} the ${noun} ${name}`);
      assert.deepEqual(await both(), [[], []]);
    }
  },

  async "show what the API refuses beside the field, and go to the first"(dashboard) {
    const { opened, page, dialog } = await openAsAdmin(dashboard, "/ui/budgets", { width: 390 });
    await using _ = opened;
    await page.getByRole("button", { name: "Add budget" }).click();
    await fill(opened, {
      "Name": "Day",
      "Limit in USD": "0.0000000001",
      "Warn at": "80, none",
      "Only calls with tags": "user",
      "Counts from": "2026-10-01",
    });
    await dialog.locator(".more-fields summary").click();
    await dialog.getByRole("button", { name: "Add budget" }).click();
    assert.equal(await dialog.getByRole("alert").textContent(), "Cannot save it: see the marked fields");
    const described = async (label: string) => {
      const field = dialog.getByLabel(label, { exact: true });
      const ids = (await field.getAttribute("aria-describedby"))?.split(" ") ?? [];
      return (await Promise.all(ids.map((id) => page.locator(`[id="${id}"]`).textContent()))).join(" ");
    };
    assert.match(await described("Limit in USD"), /nine decimals/);
    assert.match(await described("Only calls with tags"), /user .*must/);
    assert.match(await described("Warn at"), /\[\d\] /);
    const focused = await page.evaluate(() => (document.activeElement as HTMLInputElement).name);
    assert.equal(focused, "limit_usd");
    await expectAccessible(page, "a form with errors");
    await fill(opened, { "Limit in USD": "5", "Warn at": "80%", "Only calls with tags": "user=anna" });
    await dialog.getByRole("button", { name: "Add budget" }).click();
    await dialog.locator(".more-fields[open]").getByText("only a budget per lifetime has it").waitFor();
    await fill(opened, { "Counts from": "" });
    await dialog.getByRole("button", { name: "Add budget" }).click();
    await toast(opened, "Added the budget Day. No calls yet of tag:user anna");
  },

  async "overwrite nothing that another has changed, and say what it is now"(dashboard) {
    const { purser } = dashboard;
    const { body: { budget_id } } = await purser.api("POST", "/budgets", {
      ...{ name: "Shared", limit_usd: 2, per: "day" },
    });
    const path = `/budgets/${budget_id}`;
    const { opened, page, dialog } = await openAsAdmin(dashboard, `/ui${path}`);
    await using _ = opened;
    const edit = async (limit: string) => {
      await page.getByRole("main").getByRole("button", { name: "Edit" }).click();
      await fill(opened, { "Limit in USD": limit });
      return () => dialog.getByRole("button", { name: "Edit" }).click();
    };
    const submit = await edit("4");
    await purser.api("PATCH", path, { per: "week" });
    await submit();
    await dialog.getByText("It was changed in the meantime: Window is week now.").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("week (UTC)").first().waitFor();

    // Between the page's own look and its change, the server refuses it by its ETag.
    const again = await edit("5");
    await page.route(`**${path}`, async (route) => {
      if (route.request().method() === "PATCH") await purser.api("PATCH", path, { limit_usd: 3 });
      await route.continue();
    });
    await again();
    await dialog.getByText("It was changed in the meantime. Close this dialog").waitFor();
    await page.unroute(`**${path}`);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("$0 of $3.00").waitFor();
    await (await edit("6"))();
    await toast(opened, "Changed the budget Shared");
    assert.equal((await purser.api("GET", path)).body.limit_usd, 6);
  },

  async "raise one counter of a budget, as the command does"(dashboard) {
    const { purser } = dashboard;
    const booked = ["anna", "bob"].map((user) =>
      call(user, "2026-11-01T11:30:00.000Z", user, 1, { tags: { user } })
    );
    assert.equal((await purser.api("POST", "/costs/events", booked)).status, 201);
    const { body: { budget_id } } = await purser.api("POST", "/budgets", {
      ...{ name: "People", limit_usd: 2, per: "month", each: "tag:user" },
    });
    const { opened, page, dialog, key } = await openAsAdmin(dashboard, `/ui/budgets/${budget_id}`);
    await using _ = opened;
    const rows = page.getByRole("region", { name: "Counters of the budget" }).locator("tbody tr");
    await rows.filter({ hasText: "anna" }).getByRole("button", { name: "Raise" }).click();
    await fill(opened, {
      "Extra USD": "3",
      "Hours": "24",
      "Reason, for those that read it later": "release",
    });
    assert.equal(
      await dialog.locator(".as-command pre").textContent(),
      "purser budgets raise People --usd 3 --for 24h --reason release --counter anna",
    );
    await dialog.getByRole("button", { name: "Raise" }).click();
    await dialog.getByLabel("Your API key").fill(key);
    await dialog.getByRole("button", { name: "Raise" }).click();
    await toast(opened, "Raised the budget People for tag user=anna by $3.00");
    await rows.filter({ hasText: "$1.00 of $2.00 + $3.00 raised" }).filter({ hasText: "anna" }).waitFor();
    await rows.filter({ hasText: "$1.00 of $2.0050%" }).filter({ hasText: "bob" }).waitFor();
  },
});
