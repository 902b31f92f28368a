import assert from "node:assert/strict";

/**
 * Fake APIs that behave as the contracts of sources say: a key, pages whose tokens are bound to their query, ranges with limits, and
 * what may go wrong. No live API was asked: the forms are those of the documents that `seen` of each source names.
 */

/** The key, which is to be found in no database, log or message. */
export const KEY = "MARKED-bill-key-0123456789";

/** A bill of a source for 2026-11-24 and 25, and the API that answers with it. */
export interface FakeBill {
  source: string;
  account?: string;
  /** The header with the key, and its value. */
  key: readonly [header: string, value: string];
  /** Returns the rows of an answer as JSON texts, or the fault of a request that the API refuses with a 400. */
  rows(url: URL, body: Record<string, unknown>): string[] | { fault: string };
  /** Returns an answer with rows. */
  wrap(rows: readonly string[], next: string | undefined, url: URL): string;
  /** Returns the token of the page that a request asks for; undefined for the first. */
  token?(url: URL, body: Record<string, unknown>): string | undefined;
  /** A text of its rows, and one with another amount or count in its place, for a revision. */
  revised: readonly [from: string, to: string];
  /** Adds a field to each row that no reader knows, in the place of this text. */
  extended: string;
  /** The sum of what is billed, to be checked by hand, and that of the revision. */
  sum: string;
  revisedSum: string;
  /** The number of lines. */
  lines: number;
}

const DAY = "2026-11-25";
const isOn = (url: URL, from: string, to: string) =>
  Date.parse(url.searchParams.get(from)!) <= Date.parse(`${DAY}T00:00:00Z`) &&
  Date.parse(url.searchParams.get(to)!) >= Date.parse("2026-11-26T00:00:00Z");
const days = (url: URL, from: string, to: string) =>
  (Date.parse(url.searchParams.get(to)!) - Date.parse(url.searchParams.get(from)!)) / 86_400_000;
const page = (url: URL) => url.searchParams.get("page") ?? undefined;
const listOf = (rows: readonly string[], next: string | undefined, more = "") =>
  `{"data":[${rows.join(",")}],"has_more":${next !== undefined},"next_page":${
    JSON.stringify(next ?? null)
  }${more}}`;

const GROUP =
  `"model":"claude-sonnet-5","api_key_id":"apikey_01Ab","service_tier":"standard","workspace_id":null`;
const bucket = (field: string, content: string, group = GROUP) =>
  `{"starting_at":"${DAY}T00:00:00Z","ending_at":"2026-11-26T00:00:00Z","group":{${group}},"${field}":{${content}}}`;
const anthropicCost = (type: string, cents: string) =>
  bucket(
    "cost",
    `"amount":"${cents}","list_amount":"${cents}","currency":"USD","requests":null`,
    `${GROUP},"cost_type":"tokens","token_type":"${type}"`,
  );
const ANTHROPIC_USAGE = bucket(
  "usage",
  `"uncached_input_tokens":1000,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":7},` +
    `"cache_read_input_tokens":96128,"output_tokens":666,"total_tokens":97821,"requests":3,"server_tool_use":{"web_search_requests":2}`,
);

const openaiBucket = (results: string) =>
  `{"object":"bucket","start_time":1795564800,"end_time":1795651200,"results":[${results}]}`;
const openaiCost = (value: string, item: string, more = "") =>
  openaiBucket(
    `{"object":"organization.costs.result","amount":{"value":${value},"currency":"usd"},"line_item":"${item}",` +
      `"quantity":16500.0,"quantity_unit":"tokens","api_key_id":"key_x","project_id":"proj_x"${more}}`,
  );

export const FAKE_BILLS: readonly FakeBill[] = [
  {
    source: "anthropic",
    key: ["x-api-key", KEY],
    rows(url) {
      const isCost = url.pathname.endsWith("/cost");
      if (!url.pathname.startsWith("/v1/organizations/analytics/")) return { fault: "no such report" };
      if (days(url, "starting_at", "ending_at") > 31) return { fault: "the range is over 31 days" };
      const groups = url.searchParams.getAll("group_by[]").filter((name) => !/_type$/.test(name));
      if (groups.length > 5) return { fault: "at most five dimensions" };
      if (!isOn(url, "starting_at", "ending_at")) return [];
      // 2.88384 cents and 100 cents: $0.0288384 + $1 = $1.0288384.
      return isCost
        ? [anthropicCost("cache_read_input_tokens", "2.88384"), anthropicCost("output_tokens", "100")]
        : [ANTHROPIC_USAGE];
    },
    wrap: (rows, next) => listOf(rows, next, `,"data_refreshed_at":"2026-11-26T01:00:00Z"`),
    token: page,
    revised: ['"amount":"2.88384"', '"amount":"12.5"'],
    extended: '"group":{',
    sum: "1.0288384",
    revisedSum: "1.125",
    lines: 9,
  },
  {
    source: "anthropic-legacy",
    key: ["x-api-key", KEY],
    rows(url) {
      if (!isOn(url, "starting_at", "ending_at")) return [];
      const isCost = url.pathname === "/v1/organizations/cost_report";
      if (!isCost && url.pathname !== "/v1/organizations/usage_report/messages") {
        return { fault: "no such report" };
      }
      const start = `{"starting_at":"${DAY}T00:00:00Z","ending_at":"2026-11-26T00:00:00Z","results":[`;
      const usage =
        `{"model":"claude-sonnet-5","api_key_id":null,"service_tier":"batch","uncached_input_tokens":5,` +
        `"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":9},"cache_read_input_tokens":0,"output_tokens":4,` +
        `"server_tool_use":{"web_search_requests":0}}`;
      // 250.5 cents less a credit of 50 cents: $2.505 - $0.5 = $2.005.
      const cost = (cents: string, description: string) =>
        `{"amount":"${cents}","currency":"USD","description":"${description}","cost_type":"tokens","token_type":"output_tokens",` +
        `"model":"claude-sonnet-5","workspace_id":"${description}"}`;
      return isCost ? [`${start}${cost("250.5", "a")},${cost("-50", "b")}]}`] : [`${start}${usage}]}`];
    },
    wrap: (rows, next) => listOf(rows, next),
    token: page,
    revised: ['"amount":"250.5"', '"amount":"260"'],
    extended: '"results":[{',
    sum: "2.005",
    revisedSum: "2.1",
    lines: 5,
  },
  {
    source: "anthropic-claude-code",
    key: ["x-api-key", KEY],
    rows: (url) =>
      url.searchParams.get("starting_at") !== DAY ? [] : [
        `{"date":"${DAY}T00:00:00Z","actor":{"type":"user_actor","email_address":"ada@example.com"},"customer_type":"subscription",` +
        `"model_breakdown":[{"model":"claude-opus-5","tokens":{"input":10,"output":20,"cache_read":30,"cache_creation":40},` +
        `"estimated_cost":{"currency":"USD","amount":1234}}]}`,
      ],
    wrap: (rows, next) => listOf(rows, next),
    token: page,
    revised: ['"amount":1234', '"amount":2000'],
    extended: '"actor":{',
    // $12.34 are an estimate, and billed is nothing.
    sum: "0",
    revisedSum: "0",
    lines: 5,
  },
  {
    source: "openai",
    key: ["authorization", `Bearer ${KEY}`],
    rows(url) {
      const [start, end] = ["start_time", "end_time"].map((name) =>
        Number(url.searchParams.get(name)) * 1_000
      );
      const limit = Number(url.searchParams.get("limit"));
      const most = { "1m": 1_440, "1h": 168, "1d": url.pathname.endsWith("costs") ? 180 : 31 };
      if (limit > most[url.searchParams.get("bucket_width") as "1d"]!) return { fault: "limit is too large" };
      if (start! > Date.parse(`${DAY}T00:00:00Z`) || end! < Date.parse("2026-11-26T00:00:00Z")) return [];
      if (url.pathname === "/v1/organization/costs") {
        // 0.0004125 + a text of 39 decimals + 0 - 0.25 = 0.750412500000000000000000000000000000001
        return [
          openaiCost(`"0.0004125000"`, "gpt-5-mini-2026-03-17, cached input"),
          openaiCost(`1.000000000000000000000000000000000000001`, "gpt-image-2-2026 text, input"),
          openaiCost(`"0E-6176"`, "evals | gpt-6-astra, input_tokens"),
          openaiCost("-0.25", "web search tool calls"),
        ];
      }
      if (url.pathname !== "/v1/organization/usage/completions") return [];
      return [
        openaiBucket(
          `{"object":"organization.usage.completions.result","input_tokens":100,"input_uncached_tokens":60,"input_cached_tokens":30,` +
            `"input_cache_write_tokens":10,"input_cache_write_12h_tokens":4,"input_audio_tokens":8,"output_tokens":50,` +
            `"output_audio_tokens":5,"num_model_requests":2,"api_key_id":"key_x","model":"gpt-6-astra","batch":false,"service_tier":"flex"}`,
        ),
      ];
    },
    wrap: (rows, next) => listOf(rows, next, `,"object":"page"`),
    token: page,
    revised: ['"0.0004125000"', '"0.001"'],
    extended: '"results":[{',
    sum: "0.750412500000000000000000000000000000001",
    revisedSum: "0.751000000000000000000000000000000000001",
    lines: 12,
  },
  {
    source: "openrouter",
    key: ["authorization", `Bearer ${KEY}`],
    rows(url, body) {
      assert.equal(url.pathname, "/api/v1/analytics/query");
      const { start, end } = body.time_range as { start: string; end: string };
      if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(start)) return { fault: "seconds are needed" };
      const row = (at: string, id: string, credits: string, fees: string) =>
        `{"date__minute":"${at}","generation_id":"${id}","model":"openai/gpt-6-astra","request_count":"1","tokens_prompt":"1200",` +
        `"tokens_completion":"90","cached_tokens":"1024","credits_usage":${credits},"byok_fees":${fees},"byok_usage":${fees}}`;
      // 0.0051 + 0.003, of which 0.001 is a fee: $0.0081. What BYOK costs elsewhere is in no sum.
      return ([
        ["2026-11-25 10:01:00", "gen-abc", "0.0051", "0"],
        ["2026-11-25T10:02:00Z", "gen-def", "0.003", "0.001"],
      ] as const).filter(([at]) => {
        const time = Date.parse(at.endsWith("Z") ? at : `${at}Z`);
        return Date.parse(start) <= time && time < Date.parse(end);
      }).map(([at, id, credits, fees]) => row(at, id, credits, fees));
    },
    // Its answers have no pages: one with more rows than fit says so.
    wrap: (rows, next) =>
      `{"data":{"data":[${
        rows.join(",")
      }],"metadata":{"query_time_ms":1,"row_count":${rows.length},"truncated":${next !== undefined}}}}`,
    revised: ['"credits_usage":0.0051', '"credits_usage":0.0052'],
    extended: '"generation_id":',
    sum: "0.0081",
    revisedSum: "0.0082",
    lines: 12,
  },
  {
    source: "openrouter-activity",
    key: ["authorization", `Bearer ${KEY}`],
    rows: (url) =>
      url.pathname !== "/api/v1/activity"
        ? { fault: "no such path" }
        : url.searchParams.get("date") !== DAY
        ? []
        : [
          `{"date":"${DAY}","model":"openai/gpt-6-astra","model_permaslug":"openai/gpt-6-astra-2026","endpoint_id":"e","provider_name":"OpenAI",` +
          `"usage":1.5,"byok_usage_inference":9,"requests":3,"prompt_tokens":10,"completion_tokens":7,"reasoning_tokens":5,"workspace_id":"w"}`,
        ],
    wrap: (rows) => `{"data":[${rows.join(",")}]}`,
    revised: ['"usage":1.5', '"usage":1.75'],
    extended: '"endpoint_id":',
    sum: "1.5",
    revisedSum: "1.75",
    lines: 6,
  },
  {
    source: "vercel",
    key: ["authorization", `Bearer ${KEY}`],
    rows: (url) =>
      url.pathname !== "/v1/report"
        ? { fault: "no such path" }
        : url.searchParams.get("start_date") !== DAY
        ? []
        : [
          `{"model":"anthropic/claude-sonnet-5","total_cost":0.7,"market_cost":0.9,"input_tokens":100,"output_tokens":20,` +
          `"cached_input_tokens":40,"cache_creation_input_tokens":10,"reasoning_tokens":5,"request_count":2}`,
        ],
    wrap: (rows) => `{"results":[${rows.join(",")}]}`,
    revised: ['"total_cost":0.7', '"total_cost":0.71'],
    extended: '"total_cost":',
    sum: "0.7",
    revisedSum: "0.71",
    lines: 7,
  },
  {
    source: "copilot",
    account: "acme",
    key: ["authorization", `Bearer ${KEY}`],
    rows: (url) =>
      url.pathname !== "/organizations/acme/settings/billing/ai_credit/usage"
        ? { fault: "no such organization" }
        : url.searchParams.get("day") !== "25"
        ? []
        : [
          `{"product":"Copilot","sku":"Copilot AI Credits","model":"Claude Sonnet 5","unitType":"ai-credits","pricePerUnit":0.01,` +
          `"grossQuantity":120,"grossAmount":1.2,"discountQuantity":100,"discountAmount":1.0,"netQuantity":20,"netAmount":0.2}`,
        ],
    wrap: (rows) =>
      `{"timePeriod":{"year":2026,"month":11,"day":25},"organization":"acme","usageItems":[${
        rows.join(",")
      }]}`,
    revised: ['"netAmount":0.2', '"netAmount":0.3'],
    extended: '"sku":',
    sum: "0.2",
    revisedSum: "0.3",
    lines: 1,
  },
  {
    source: "cursor",
    key: ["authorization", `Basic ${btoa(`${KEY}:`)}`],
    rows(url, { startDate, endDate }) {
      assert.equal(url.pathname, "/teams/filtered-usage-events");
      const at = Date.parse(`${DAY}T10:00:00Z`);
      if (Number(startDate) > at || Number(endDate) < at) return [];
      const event =
        `{"timestamp":"${at}","userEmail":"ada@example.com","model":"claude-sonnet-5","kind":"Usage-based","maxMode":false,` +
        `"isTokenBasedCall":true,"tokenUsage":{"inputTokens":10,"outputTokens":2,"cacheReadTokens":3,"cacheWriteTokens":0,"totalCents":4.5},` +
        `"chargedCents":5.25}`;
      // The same event twice is two: 2 × 5.25 cents = $0.105.
      return [event, event];
    },
    wrap: (rows, next) =>
      `{"usageEvents":[${rows.join(",")}],"totalUsageEventsCount":2,"pagination":{"hasNextPage":${
        next !== undefined
      }}}`,
    token: (_, { page }) => page === 1 ? undefined : String(page),
    revised: ['"chargedCents":5.25', '"chargedCents":6'],
    extended: '"userEmail":',
    sum: "0.105",
    revisedSum: "0.12",
    lines: 10,
  },
];

/** The mishaps of a fake API. */
export interface Mishaps {
  /** Statuses of the next answers. */
  statuses?: { status: number; headers?: Record<string, string> }[];
  /** Changes an answer. */
  edit?(text: string): string;
  /** The number of answers after which nothing more is answered, as of a process that is killed. */
  endsAfter?: number;
  /** The tokens of an earlier generation are refused. */
  generation?: number;
}

/** Returns a `fetch` that answers as the API of a bill does, and counts its answers. */
export function fakeApi(bill: FakeBill, mishaps: Mishaps = {}) {
  const asked: string[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (mishaps.endsAfter !== undefined && asked.length >= mishaps.endsAfter) {
      throw new TypeError("connection reset");
    }
    asked.push(url.href);
    const [header, value] = bill.key;
    const headers = new Headers(init?.headers);
    const refuse = (status: number, message: string) => Response.json({ error: { message } }, { status });
    if (headers.get(header) !== value) return refuse(401, `invalid key ${headers.get(header)}`);
    const next = mishaps.statuses?.shift();
    if (next) return new Response(`{"error":{"message":"no, ${KEY}"}}`, next);
    const body = init?.body ? JSON.parse(String(init.body)) : {};
    const rows = bill.rows(url, body);
    if (!Array.isArray(rows)) return refuse(400, rows.fault);
    const token = bill.token?.(url, body);
    const query = new URL(url);
    query.searchParams.delete("page");
    const bound = `${query.href} ${JSON.stringify({ ...body, page: undefined })}`;
    const generation = String(mishaps.generation ?? 0);
    const isCounted = bill.source === "cursor";
    const [at = 0] = token === undefined
      ? []
      : isCounted
      ? [Number(token) - 1]
      : token.split("|").map(Number);
    if (token !== undefined && !isCounted) {
      if (token.split("|")[2] !== generation) return refuse(400, "page token has expired");
      if (token.split("|")[1] !== await hashOf(bound)) return refuse(400, "page token is of another query");
    }
    const isPaged = bill.token !== undefined;
    const shown = isPaged ? rows.slice(at, at + 1) : rows;
    let after = isPaged && at + 1 < rows.length
      ? isCounted ? String(at + 2) : `${at + 1}|${await hashOf(bound)}|${generation}`
      : undefined;
    if (bill.source === "openrouter" && rows.length > 1) after = "truncated";
    const text = bill.wrap(shown, after, url);
    return new Response(mishaps.edit?.(text) ?? text, { headers: { "content-type": "application/json" } });
  };
  return { fetch: fetch as typeof globalThis.fetch, asked, mishaps };
}

const hashOf = async (text: string) =>
  [...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)))].slice(0, 6).join(
    "-",
  );
