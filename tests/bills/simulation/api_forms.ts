import type { Cause } from "../../../src/contract/bills/causes.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/kernel/clock.ts";
import { toText } from "./provider_lines.ts";
import {
  amountsOf,
  type Call,
  CENT,
  cents,
  CLAUDE,
  dateOf,
  extraOf,
  type Form,
  groupsOf,
  iso,
  onDay,
  priceOf,
  promptOf,
  ROUTED,
  shared,
  START,
  sumOf,
  usd,
  within,
} from "./form.ts";

/** The bills that the APIs of providers answer with. */

const TOKEN_TYPES = {
  input: "uncached_input_tokens",
  cacheRead: "cache_read_input_tokens",
  output: "output_tokens",
} as const;
const anthropicUsage = (own: readonly Call[]) =>
  `"uncached_input_tokens":${sumOf(own, "input")},"cache_creation":{"ephemeral_5m_input_tokens":0,` +
  `"ephemeral_1h_input_tokens":0},"cache_read_input_tokens":${sumOf(own, "cacheRead")},` +
  `"output_tokens":${sumOf(own, "output")}`;
const anthropicWindow = (url: URL) =>
  (["starting_at", "ending_at"] as const).map((name) => Date.parse(url.searchParams.get(name)!)) as [
    number,
    number,
  ];
const times = (at: number, widthMs: number) =>
  `"starting_at":"${iso(at)}","ending_at":"${iso(at + widthMs)}"`;
export const API_FORMS: Readonly<Record<string, Form>> = {
  "Anthropic's analytics": {
    source: "anthropic",
    provider: "anthropic",
    models: CLAUDE,
    credential: "apikey_01Ab",
    shares: [100n, 80n],
    extras: { tool_fee: 3n * CENT, session: 8n * CENT },
    rows(bill, url) {
      const calls = within(bill.calls, ...anthropicWindow(url));
      const group = (model: string) =>
        `"model":"${model}","api_key_id":"apikey_01Ab","service_tier":"standard","workspace_id":null`;
      if (!url.pathname.endsWith("/cost")) {
        return groupsOf(bill, calls, HOUR_MS).map(({ at, model, own }) =>
          `{${times(at, HOUR_MS)},"group":{${group(model)}},"usage":{${
            anthropicUsage(own)
          },"total_tokens":1,"requests":${own.length}}}`
        );
      }
      const cost = (at: number, more: string, list: bigint, amount: bigint) =>
        `{${times(at, DAY_MS)},"group":{${more}},"cost":{"amount":"${cents(amount, 9)}","list_amount":"${
          cents(list, 9)
        }","currency":"USD","requests":null}}`;
      const extra = (type: string, cause: Cause) =>
        cost(START, `${group(CLAUDE[0]!)},"cost_type":"${type}"`, extraOf(bill, cause), extraOf(bill, cause));
      return [
        ...groupsOf(bill, calls, DAY_MS).flatMap((one) =>
          amountsOf(one).map(([count, amount]) =>
            cost(
              one.at,
              `${group(one.model)},"cost_type":"tokens","token_type":"${TOKEN_TYPES[count]}"`,
              amount,
              shared(amount, bill),
            )
          )
        ),
        ...[extra("web_search", "tool_fee"), extra("session_usage", "session")],
      ];
    },
  },
  "Anthropic's legacy reports": {
    source: "anthropic-legacy",
    provider: "anthropic",
    models: CLAUDE,
    fates: ["unbilled", "blocked"],
    extras: { tool_fee: 3n * CENT },
    rows(bill, url) {
      const calls = within(bill.calls, ...anthropicWindow(url));
      const isCost = url.pathname === "/v1/organizations/cost_report";
      const widthMs = isCost ? DAY_MS : HOUR_MS;
      const group = (model: string) => `"model":"${model}","service_tier":"standard"`;
      const cost = (model: string, more: string, amount: bigint) =>
        `{"amount":"${cents(amount, 9)}","currency":"USD","description":"d",${more},${
          group(model)
        },"workspace_id":null}`;
      const results = groupsOf(bill, calls, widthMs).map((one) => ({
        at: one.at,
        rows: isCost
          ? amountsOf(one).map(([count, amount]) =>
            cost(one.model, `"cost_type":"tokens","token_type":"${TOKEN_TYPES[count]}"`, amount)
          )
          : [`{${group(one.model)},"api_key_id":null,${anthropicUsage(one.own)}}`],
      }));
      if (isCost) {
        const amount = extraOf(bill, "tool_fee");
        results.push({
          at: START,
          rows: [cost(CLAUDE[0]!, `"cost_type":"web_search","token_type":null`, amount)],
        });
      }
      return [...Map.groupBy(results, ({ at }) => at)].map(([at, all]) =>
        `{${times(at, widthMs)},"results":[${all.flatMap(({ rows }) => rows).join(",")}]}`
      );
    },
  },
  "Anthropic's report on Claude Code": {
    source: "anthropic-claude-code",
    provider: "anthropic",
    models: CLAUDE,
    isEstimate: true,
    rows: (bill, url) =>
      groupsOf(bill, onDay(bill.calls, url.searchParams.get("starting_at")), DAY_MS).map(
        ({ at, model, own, more }) =>
          `{"date":"${
            iso(at)
          }","actor":{"type":"user_actor","email_address":"ada@example.com"},"customer_type":"subscription",` +
          `"model_breakdown":[{"model":"${model}","tokens":{"input":${sumOf(own, "input")},"output":${
            sumOf(own, "output")
          },"cache_read":${sumOf(own, "cacheRead")},"cache_creation":0},` +
          `"estimated_cost":{"currency":"USD","amount":${cents(priceOf(...own) + more, 10)}}}]}`,
      ),
  },
  OpenAI: {
    source: "openai",
    provider: "openai",
    models: ["gpt-6-astra", "gpt-5-mini"],
    credential: "key_x",
    // Tokens that are shared with OpenAI are free.
    fates: ["unbilled", "blocked"],
    extras: { tool_fee: 5n * CENT },
    rows(bill, url) {
      const isCost = url.pathname.endsWith("/costs");
      if (!isCost && !url.pathname.endsWith("/completions")) return [];
      const [from, to] = ["start_time", "end_time"].map((name) =>
        Number(url.searchParams.get(name)) * 1_000
      ) as [
        number,
        number,
      ];
      const widthMs = isCost ? DAY_MS : HOUR_MS;
      const items = { input: "input", cacheRead: "cached input", output: "output" };
      const cost = (item: string, amount: bigint, more = "") =>
        `{"object":"organization.costs.result","amount":{"value":"${
          toText(amount)
        }000000000000000000000","currency":"usd"},"line_item":"${item}","api_key_id":"key_x"${more}}`;
      const bucket = (at: number, rows: readonly string[]) =>
        `{"object":"bucket","start_time":${at / 1_000},"end_time":${(at + widthMs) / 1_000},"results":[${
          rows.join(",")
        }]}`;
      const buckets = groupsOf(bill, within(bill.calls, from, to), widthMs).map((one) =>
        bucket(
          one.at,
          isCost
            ? amountsOf(one).map(([count, amount]) =>
              cost(
                `${one.model}, ${items[count]}`,
                amount,
                `,"quantity":${sumOf(one.paid, count)}.0,"quantity_unit":"tokens"`,
              )
            )
            : [
              `{"object":"organization.usage.completions.result","input_tokens":${promptOf(one.own)},` +
              `"input_cached_tokens":${sumOf(one.own, "cacheRead")},"output_tokens":${
                sumOf(one.own, "output")
              },` +
              `"num_model_requests":${one.own.length},"api_key_id":"key_x","model":"${one.model}"}`,
            ],
        )
      );
      return isCost
        ? [...buckets, bucket(START, [cost("web search tool calls", extraOf(bill, "tool_fee"))])]
        : buckets;
    },
  },
  "OpenRouter's analytics": {
    source: "openrouter",
    provider: "openrouter",
    models: ROUTED,
    extras: { fee: CENT },
    equivalent: "9",
    rows(bill, _, body) {
      const { start, end } = body.time_range as { start: string; end: string };
      const [from, to] = [Date.parse(start), Date.parse(end)];
      const row = (at: number, id: string, own: readonly Call[], credits: bigint, fees: bigint, byok = 0) =>
        `{"date__minute":"${iso(at - at % MINUTE_MS)}","generation_id":"${id}","model":"${
          own[0]?.model ?? ROUTED[0]
        }","request_count":"1","tokens_prompt":"${promptOf(own)}","tokens_completion":"${
          sumOf(own, "output")
        }","cached_tokens":"${sumOf(own, "cacheRead")}","credits_usage":${usd(credits, 10)},"byok_fees":${
          usd(fees, 10)
        },"byok_usage":${byok}}`;
      const fee = extraOf(bill, "fee");
      return [
        ...within(bill.calls, from, to).map((call) =>
          row(call.at, call.id, [call], priceOf(call) + (call === bill.calls[0] ? bill.mistake : 0n), 0n)
        ),
        ...from <= START && to > START ? [row(START, "gen-byok", [], fee, fee, 9)] : [],
      ];
    },
  },
  "OpenRouter's activity": {
    source: "openrouter-activity",
    provider: "openrouter",
    models: ROUTED,
    equivalent: "9",
    rows(bill, url) {
      const day = url.searchParams.get("date");
      const row = (model: string, usage: string, byok: number, own: readonly Call[]) =>
        `{"date":"${day}","model":"${model}","model_permaslug":"${model}","endpoint_id":"e${byok}","provider_name":"P",` +
        `"usage":${usage},"byok_usage_inference":${byok},"requests":${own.length},"prompt_tokens":${
          promptOf(own)
        },"completion_tokens":${sumOf(own, "output")},"reasoning_tokens":0,"workspace_id":"w"}`;
      return [
        ...groupsOf(bill, onDay(bill.calls, day), DAY_MS).map(({ model, own, more }) =>
          row(model, usd(priceOf(...own) + more, 9), 0, own)
        ),
        ...day === dateOf(START) ? [row(ROUTED[0]!, "0.00", 9, bill.calls.slice(0, 1))] : [],
      ];
    },
  },
  "Vercel's report": {
    source: "vercel",
    // The AI SDK's name of it.
    provider: "gateway",
    models: ROUTED,
    shares: [100n, 80n, 110n],
    rows: (bill, url) =>
      groupsOf(bill, onDay(bill.calls, url.searchParams.get("start_date")), DAY_MS).map(
        ({ model, own, more }) => {
          const list = priceOf(...own) + more;
          return `{"model":"${model}","total_cost":${usd(shared(list, bill), 8)},"market_cost":${
            usd(list, 8)
          },` +
            `"input_tokens":${promptOf(own)},"output_tokens":${sumOf(own, "output")},"cached_input_tokens":${
              sumOf(own, "cacheRead")
            },"cache_creation_input_tokens":0,"reasoning_tokens":0,"request_count":${own.length}}`;
        },
      ),
  },
  "GitHub's AI credits": {
    source: "copilot",
    provider: "github",
    account: "acme",
    models: CLAUDE,
    onlyAmountsMs: DAY_MS,
    shares: [100n, 20n],
    rows(bill, url) {
      const [year, month, day] = ["year", "month", "day"].map((name) => Number(url.searchParams.get(name)));
      const calls = onDay(bill.calls, dateOf(Date.UTC(year!, month! - 1, day)));
      const titles = ["Claude Sonnet 5", "Claude Opus 5"];
      return groupsOf(bill, calls, DAY_MS).map(({ model, own, more }) => {
        const gross = priceOf(...own) + more;
        const net = shared(gross, bill);
        const [all, less, rest] = [gross, gross - net, net].map((one) => [usd(one, 6), cents(one, 4)]);
        return `{"product":"Copilot","sku":"Copilot AI Credits","model":"${titles[CLAUDE.indexOf(model)]}",` +
          `"unitType":"ai-credits","pricePerUnit":0.01,"grossQuantity":${all![1]},"grossAmount":${all![0]},` +
          `"discountQuantity":${less![1]},"discountAmount":${less![0]},"netQuantity":${
            rest![1]
          },"netAmount":${rest![0]}}`;
      });
    },
  },
  "Cursor's events": {
    source: "cursor",
    provider: "cursor",
    models: CLAUDE,
    shares: [100n, 80n, 110n],
    rows(bill, _, { startDate, endDate }) {
      const event = (at: number, model: string, kind: string, own: readonly Call[], list: bigint) =>
        `{"timestamp":"${at}","userEmail":"ada@example.com","model":"${model}","kind":"${kind}","maxMode":false,` +
        `"isTokenBasedCall":true,"tokenUsage":{"inputTokens":${sumOf(own, "input")},"outputTokens":${
          sumOf(own, "output")
        },"cacheReadTokens":${sumOf(own, "cacheRead")},"cacheWriteTokens":0,"totalCents":${
          cents(list, 4)
        }},` +
        `"chargedCents":${cents(shared(list, bill), 4)}}`;
      const calls = within(bill.calls, Number(startDate), Number(endDate) + 1);
      return [
        ...calls.map((call) =>
          event(
            call.at,
            call.model,
            "Usage-based",
            [call],
            priceOf(call) + (call === bill.calls[0] ? bill.mistake : 0n),
          )
        ),
        ...calls.slice(0, 2).map(({ at, model }) => event(at, model, "Errored, Not Charged", [], 0n)),
      ];
    },
  },
};
