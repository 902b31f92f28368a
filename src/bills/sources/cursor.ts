import { startOf } from "../../contract/windows.ts";
import { HOUR_MS } from "../../kernel/clock.ts";
import { isZero } from "../lines/decimal.ts";
import { Answer, dollarsOf, type Fields, statedOf, textOf, timeOf, windowsOf } from "./answer.ts";
import { defineBillSource, fetchAll } from "./bill_source.ts";

const EVENT = [
  ...["timestamp", "userEmail", "model", "kind", "maxMode", "isTokenBasedCall", "tokenUsage", "chargedCents"],
  ...["conversationId", "requestsCosts", "isChargeable", "isHeadless", "cursorTokenFee", "serviceAccountId"],
];
const TOKENS = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "totalCents"];

/** The usage events of Cursor's Admin API: one for each call. */
export default defineBillSource({
  name: "cursor",
  title: "Cursor",
  seen: "2026-08-21, github.com/steipete/CodexBar 27c7f334e, teams/filtered-usage-events",
  provider: "cursor",
  delayMs: 2 * HOUR_MS,
  finalAfterDays: 5,
  mapping: 1,
  holes: ["Events have no id", "Events of the present hour are not there yet"],
  series: ["usage", "cost"],
  areRowsDistinct: true,
  fetch: {
    origin: "https://api.cursor.com",
    key: {
      variable: "CURSOR_ADMIN_KEY",
      scope: "an Admin API key of the team",
      headers: (key) => ({ authorization: `Basic ${btoa(`${key}:`)}` }),
    },
    // Numbered pages of whole hours only: an event that comes meanwhile would move the others to the next page.
    fetchPages: (ctx, { from, to, askedAt, page }) =>
      fetchAll(ctx, page, windowsOf({ from, to: Math.min(to, startOf("hour", askedAt)) }, 30), {
        requestOf: (window, token = "1") => ({
          path: "/teams/filtered-usage-events",
          body: { startDate: window.from, endDate: window.to - 1, page: Number(token), pageSize: 1_000 },
        }),
        read(body, _, token = "1") {
          const answer = new Answer();
          const { usageEvents, pagination } = answer.fields(body, "answer", [
            ...["usageEvents", "pagination", "totalUsageEventsCount", "period"],
          ]);
          for (const event of answer.list(usageEvents, "usageEvents")) {
            addEvent(answer, answer.fields(event, "event", EVENT));
          }
          const { hasNextPage } = answer.fields(pagination, "pagination", [
            ...["hasNextPage", "hasPreviousPage", "currentPage", "pageSize", "numPages"],
          ]);
          const next = textOf(hasNextPage) === "true" ? String(Number(token) + 1) : undefined;
          return answer.page({ next });
        },
      }),
  },
});

function addEvent(answer: Answer, event: Fields): void {
  const at = timeOf(event.timestamp, "timestamp");
  const line = {
    category: "usage",
    startsAt: at,
    endsAt: at,
    model: textOf(event.model),
    actor: textOf(event.userEmail) ?? textOf(event.serviceAccountId),
    other: statedOf({ kind: event.kind, conversation: event.conversationId, max_mode: event.maxMode }),
  } as const;
  const tokens = answer.fields(event.tokenUsage ?? {}, "tokenUsage", TOKENS);
  const before = answer.lines.length;
  answer.addParts({ ...line, series: "usage" }, {
    input_tokens: tokens.inputTokens,
    output_tokens: tokens.outputTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
  });
  const [amount, listAmount] = [dollarsOf(event.chargedCents), dollarsOf(tokens.totalCents)];
  // An event without tokens that costs nothing is one that failed: the ledger counts no request without an answer.
  const isRequest = answer.lines.length > before || !isZero(amount ?? listAmount ?? "0");
  if (isRequest) answer.addParts({ ...line, series: "usage" }, { requests: "1" });
  if (amount ?? listAmount) {
    answer.lines.push({ ...line, series: "cost", amount, listAmount, currency: "USD" });
  }
}
