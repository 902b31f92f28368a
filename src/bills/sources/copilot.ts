import { DAY_MS } from "../../kernel/clock.ts";
import { Answer, statedOf, textOf, windowsOf } from "./answer.ts";
import { defineBillSource, fetchAll } from "./bill_source.ts";

const ITEM =
  "product sku model unitType pricePerUnit grossQuantity grossAmount discountQuantity discountAmount netQuantity netAmount"
    .split(" ");

/** GitHub's AI credits: days by product and model. */
export default defineBillSource({
  name: "copilot",
  title: "GitHub Copilot",
  seen: "2026-11-26, npm @octokit/openapi-types 29.0.1, billing ai_credit/usage",
  provider: "github",
  delayMs: 2 * DAY_MS,
  finalAfterDays: 5,
  mapping: 1,
  holes: ["Days by model, without people; kinds of tokens are in no answer", "The last 24 months"],
  series: ["cost"],
  fetch: {
    origin: "https://api.github.com",
    key: {
      variable: "GITHUB_BILLING_TOKEN",
      scope: "a classic token of an owner, or a fine-grained one that reads the plan",
      headers: (key) => ({
        authorization: `Bearer ${key}`,
        accept: "application/vnd.github+json",
        "x-github-api-version": "2022-11-28",
        "user-agent": "purser",
      }),
    },
    maxAgeDays: 730,
    needsAccount: true,
    fetchPages: (ctx, { from, to, account, page }) =>
      fetchAll(ctx, page, windowsOf({ from, to }, 1), {
        requestOf(day) {
          const date = new Date(day.from);
          return {
            path: `/organizations/${encodeURIComponent(account)}/settings/billing/ai_credit/usage`,
            query: { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() },
          };
        },
        read: readDay,
      }),
  },
});

function readDay(body: unknown, day: { from: number }) {
  const answer = new Answer();
  const { organization, usageItems } = answer.fields(body, "answer", [
    ...["timePeriod", "organization", "user", "product", "model", "usageItems"],
  ]);
  for (const entry of answer.list(usageItems, "usageItems")) {
    const item = answer.fields(entry, "item", ITEM);
    answer.lines.push({
      series: "cost",
      category: "usage",
      startsAt: day.from,
      endsAt: day.from + DAY_MS,
      model: textOf(item.model),
      sku: textOf(item.sku),
      quantity: textOf(item.grossQuantity),
      unit: textOf(item.unitType),
      amount: textOf(item.netAmount),
      listAmount: textOf(item.grossAmount),
      currency: "USD",
      other: statedOf({ product: item.product }),
    });
  }
  return answer.page({ account: textOf(organization) });
}
