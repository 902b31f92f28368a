import { movePoint } from "../../../src/bills/lines/decimal.ts";
import type { Cause } from "../../../src/contract/bills/causes.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, toIso } from "../../../src/kernel/clock.ts";
import { divideHalfEven } from "../../../src/kernel/money.ts";
import { toText } from "./provider_lines.ts";

/** The rules by which each importer's source makes a bill of calls: the rows of its API's answer, or its file. */

/** A call, and what has become of it: `past` is on the bill alone, `unbilled` in the ledger alone, a `blocked` one has usage and no cost. */
export interface Call {
  id: string;
  at: number;
  model: string;
  input: number;
  cacheRead: number;
  output: number;
  fate: Fate;
}
export type Fate = "both" | "past" | "unbilled" | "blocked" | "cut";
type Count = "input" | "cacheRead" | "output";

/** Pico-USD for each token. */
export const PRICES = { input: 2_718_281n, cacheRead: 271_828n, output: 14_142_135n };
const COUNTS = Object.keys(PRICES) as Count[];
const ATTO_PER_PICO = 1_000_000n;

const sumOf = (calls: readonly Call[], count: Count) => calls.reduce((sum, call) => sum + call[count], 0);
const promptOf = (calls: readonly Call[]) => sumOf(calls, "input") + sumOf(calls, "cacheRead");
const costOf = (calls: readonly Call[], count: Count) =>
  calls.reduce((sum, call) => sum + BigInt(call[count]), 0n) * PRICES[count] * ATTO_PER_PICO;
/** The price of calls in atto-USD. */
export const priceOf = (...calls: readonly Call[]) =>
  COUNTS.reduce((sum, count) => sum + costOf(calls, count), 0n);

/** A bill to make. */
export interface Bill {
  calls: readonly Call[];
  /** In percent of the list price. */
  share: bigint;
  /** The amount that is billed too much, in atto-USD, on the first day. */
  mistake: bigint;
  extras: Partial<Record<Cause, bigint>>;
}

/** The first day, and the time at which the bill has ended. */
export const START = Date.parse("2026-11-21T00:00:00Z");
export const DAYS = 5;
const END = START + DAYS * DAY_MS;

/** The form of a source's bills. */
export interface Form {
  source: string;
  /** As the ledger names them. */
  provider: string;
  models: readonly string[];
  account?: string;
  /** The provider's id of the key. */
  credential?: string;
  /** The width of its buckets, in which amounts alone can't tell what has become of which call. */
  onlyAmountsMs?: number;
  hasNoModels?: true;
  /** It bills nothing: the price of its calls is shown as their equivalent. */
  isEstimate?: true;
  /** What calls may come to that are not on the bill whole. */
  fates?: readonly Fate[];
  /** The shares of the list price that it may have. */
  shares?: readonly bigint[];
  /** The amounts of lines that are of no call, by their cause: in atto-USD. */
  extras?: Partial<Record<Cause, bigint>>;
  /** The amount that it names and doesn't bill. */
  equivalent?: string;
  /** Returns the rows of the answer to a request. */
  rows?(bill: Bill, url: URL, body: Record<string, unknown>): string[];
  /** Returns a file, and the names of its columns. */
  file?(bill: Bill): { text: string; columns?: Record<string, string> };
}

const CENT = 10n ** 16n;
/** Formats an amount with at most so many decimals. */
const usd = (atto: bigint, decimals: number) => {
  const unit = 10n ** BigInt(18 - decimals);
  return movePoint(toText(divideHalfEven(atto, unit) * unit), 0);
};
const cents = (atto: bigint, decimals: number) => movePoint(usd(atto, decimals + 2), 2);
const iso = (at: number) => toIso(at).replace(".000", "");
const dateOf = (at: number) => toIso(at).slice(0, 10);
const within = (calls: readonly Call[], from: number, to: number) =>
  calls.filter(({ at }) => at >= from && at < to);
const onDay = (calls: readonly Call[], day: string | null) => calls.filter(({ at }) => dateOf(at) === day);

interface Group {
  at: number;
  model: string;
  own: readonly Call[];
  /** The calls that are paid for. */
  paid: readonly Call[];
  /** What is billed too much. */
  more: bigint;
}

/** Groups calls by buckets and models; what is billed too much is in the first one. */
function groupsOf(
  { calls, mistake }: Bill,
  own: readonly Call[],
  widthMs: number,
  hasModels = true,
): Group[] {
  const groups = Map.groupBy(own, ({ at, model }) => `${at - at % widthMs} ${hasModels ? model : ""}`);
  return [...groups].map(([key, own]) => ({
    at: Number(key.split(" ")[0]),
    model: key.slice(key.indexOf(" ") + 1),
    own,
    paid: own.filter(({ fate }) => fate !== "blocked"),
    more: own.includes(calls[0]!) ? mistake : 0n,
  }));
}
const shared = (atto: bigint, { share }: Bill) => atto * share / 100n;
const extraOf = ({ extras }: Bill, cause: Cause) => extras[cause] ?? 0n;

const CLAUDE = ["claude-sonnet-5", "claude-opus-5"];
const ROUTED = ["openai/gpt-6-astra", "anthropic/claude-sonnet-5"];
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
/** The amounts of the counts of a group. */
const amountsOf = ({ paid, more }: Group) =>
  COUNTS.map((count) => [count, costOf(paid, count) + (count === "output" ? more : 0n)] as const)
    .filter(([, amount]) => amount !== 0n);

export const FORMS: Readonly<Record<string, Form>> = {
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
        ...day === dateOf(START) ? [row(ROUTED[0]!, "0", 9, bill.calls.slice(0, 1))] : [],
      ];
    },
  },
  "Vercel's report": {
    source: "vercel",
    provider: "vercel",
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
  ...Object.fromEntries(
    ([
      ["AWS", "bedrock", HOUR_MS, 10, (at: number) => iso(at)],
      ["Microsoft", "azure", DAY_MS, 12, (at: number) => iso(at).replace(":00Z", "Z")],
      [
        "Google Cloud",
        "google-vertex",
        HOUR_MS,
        6,
        (at: number) => iso(at).replace("T", " ").replace("Z", " UTC"),
      ],
    ] as const).map(([name, provider, widthMs, decimals, time]) => [
      `the FOCUS file of ${name}`,
      {
        source: "focus",
        provider,
        models: CLAUDE,
        hasNoModels: true,
        onlyAmountsMs: widthMs,
        shares: [100n, 80n],
        extras: { credit: -7n * CENT, tax: 11n * CENT, commitment: 13n * CENT },
        file(bill) {
          const row = (at: number, category: string, list: bigint, amount: bigint, service = "AI") =>
            `123,${usd(amount, decimals)},${usd(list, decimals)},USD,${category},${time(at)},${
              time(at + widthMs)
            },${service},${
              service === "AI" ? "AI and Machine Learning" : "Compute"
            },${name},S,us-east-1,0.5,Units,999`;
          const extra = (category: string, cause: Cause) =>
            row(START, category, extraOf(bill, cause), extraOf(bill, cause));
          return {
            text: [
              "BillingAccountId,BilledCost,ListCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd," +
              "ServiceName,ServiceCategory,ProviderName,SkuId,RegionId,ConsumedQuantity,ConsumedUnit,SubAccountId",
              ...groupsOf(bill, bill.calls, widthMs, false).flatMap(({ at, own, more }) =>
                COUNTS.map((count) => {
                  const list = costOf(own, count) + (count === "output" ? more : 0n);
                  return row(at, "Usage", list, shared(list, bill));
                })
              ),
              extra("Credit", "credit"),
              extra("Tax", "tax"),
              extra("Purchase", "commitment"),
              row(START, "Usage", CENT, CENT, "Amazon EC2"),
              "",
            ].join("\n"),
          };
        },
      } satisfies Form,
    ]),
  ),
  "a console's table of dollars and cents": {
    source: "csv",
    provider: "mistral",
    models: ["mistral-large", "codestral"],
    onlyAmountsMs: DAY_MS,
    extras: { fee: 7n * CENT, minimum: 19n * CENT, fx: 17n * CENT },
    file: (bill) => ({
      columns: { starts_at: "Day", model: "Model", amount: "Cost (USD)", category: "Kind", sku: "What" },
      text: [
        "Day,Model,Cost (USD),Kind,What",
        ...groupsOf(bill, bill.calls, DAY_MS).map(({ at, model, own, more }) =>
          `${dateOf(at)},${model},${usd(priceOf(...own) + more, 2)},usage,`
        ),
        ...([["fee", "fee", "plan"], ["minimum", "purchase", "minimum spend"], [
          "fx",
          "fee",
          "FX charge",
        ]] as const)
          .map(([cause, kind, what]) => `${dateOf(START)},,${usd(extraOf(bill, cause), 2)},${kind},${what}`),
        "",
      ].join("\n"),
    }),
  },
  "a table of tokens by the hour": {
    source: "csv",
    provider: "mistral",
    models: ["mistral-large", "codestral"],
    shares: [100n, 80n],
    file: (bill) => ({
      text: [
        "starts_at,ends_at,model,part,quantity,list_amount,amount",
        ...groupsOf(bill, bill.calls, HOUR_MS).flatMap((one) =>
          amountsOf(one).map(([count, amount]) =>
            [
              ...[iso(one.at), iso(one.at + HOUR_MS), one.model],
              { input: "input_tokens", cacheRead: "cache_read_tokens", output: "output_tokens" }[count],
              ...[sumOf(one.own, count), usd(amount, 9), usd(shared(amount, bill), 9)],
            ].join(",")
          )
        ),
        "",
      ].join("\n"),
    }),
  },
};
export { END };
