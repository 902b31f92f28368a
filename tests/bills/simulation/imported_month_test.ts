import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { loadSource } from "../../../src/bills/import/mod.ts";
import { movePoint } from "../../../src/bills/lines/decimal.ts";
import type { Cause } from "../../../src/contract/bills/causes.ts";
import type { ReconciliationDetail } from "../../../src/contract/bills/reconciliations.ts";
import { fixedClock } from "../../../src/kernel/clock.ts";
import { formatUsd } from "../../../src/kernel/money.ts";
import { recordCalls, recordPrices, recordUpstreams } from "../../../src/ledger/mod.ts";
import { priceLines, sumLines, usageOf } from "../../../src/pricing/mod.ts";
import { flatRates } from "../../harness/flat_rates.ts";
import { modelCall } from "../../harness/model_calls.ts";
import { openTestPurser } from "../../harness/test_purser.ts";
import { cases } from "../../harness/thorough.ts";
import { FAKE_BILLS, fakeApi, KEY } from "../fakes.ts";

/**
 * Calls of a day, their bill as the API of each source answers it by its own rules (buckets by day or lines by call, cents or dollars,
 * counts that include others), the import of that answer, and the comparison with the ledger.
 */

const DAY = "2026-11-25";
const START = Date.parse(`${DAY}T00:00:00Z`);
/** Nano-USD for each token. */
const PRICES = { input: 3_000n, cacheRead: 300n, output: 15_000n };
const CARD = flatRates({ input: 3_000_000n, cacheRead: 300_000n, output: 15_000_000n });

interface Call {
  id: string;
  at: number;
  model: string;
  input: number;
  cacheRead: number;
  output: number;
}

const sumOf = (calls: readonly Call[], count: "input" | "cacheRead" | "output") =>
  calls.reduce((sum, call) => sum + call[count], 0);
const nanoOf = (calls: readonly Call[]) =>
  (["input", "cacheRead", "output"] as const).reduce(
    (sum, count) => sum + BigInt(sumOf(calls, count)) * PRICES[count],
    0n,
  );
const usdOf = (calls: readonly Call[]) => formatUsd(nanoOf(calls));

/** The answer of an API to calls. `more` is what the bill has too much, in USD, in an amount of its first row. */
interface Rules {
  provider: string;
  models: readonly string[];
  /** The provider's id of the key. */
  credential?: string;
  /** It counts no requests: more tokens in the bucket of a known call may be another call, or a fault. */
  countsNoRequests?: true;
  /** It counts no cached input apart: beside other calls, the price of what is left out can't be told from one amount for all. */
  countsNoCache?: true;
  rows(calls: readonly Call[], url: URL, more: bigint): string[];
}

const withMore = (usd: string, more: bigint) =>
  more === 0n ? usd : formatUsd(BigInt(movePoint(usd, 9).split(".")[0]!) + more);
const byModel = (
  calls: readonly Call[],
  rowOf: (model: string, own: readonly Call[], isFirst: boolean) => string[],
) =>
  [...Map.groupBy(calls, ({ model }) => model)].flatMap(([model, own], index) =>
    rowOf(model, own, index === 0)
  );
const amountsOf = (own: readonly Call[], more: bigint) =>
  [
    ["input", formatUsd(BigInt(sumOf(own, "input")) * PRICES.input)],
    ["cacheRead", formatUsd(BigInt(sumOf(own, "cacheRead")) * PRICES.cacheRead)],
    ["output", formatUsd(BigInt(sumOf(own, "output")) * PRICES.output + more)],
  ] as const;

const TOKEN_TYPES = {
  input: "uncached_input_tokens",
  cacheRead: "cache_read_input_tokens",
  output: "output_tokens",
} as const;
const anthropicUsage = (own: readonly Call[]) =>
  `"uncached_input_tokens":${
    sumOf(own, "input")
  },"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},` +
  `"cache_read_input_tokens":${sumOf(own, "cacheRead")},"output_tokens":${sumOf(own, "output")}`;
const CLAUDE = ["claude-sonnet-5", "claude-opus-5"];
const OPENROUTER = ["openai/gpt-6-astra", "anthropic/claude-sonnet-5"];

const RULES: Readonly<Record<string, Rules>> = {
  anthropic: {
    provider: "anthropic",
    models: CLAUDE,
    credential: "apikey_01Ab",
    rows: (calls, url, more) =>
      byModel(calls, (model, own, isFirst) => {
        const group =
          `"model":"${model}","api_key_id":"apikey_01Ab","service_tier":"standard","workspace_id":null`;
        const bucket = (more: string) =>
          `{"starting_at":"${DAY}T00:00:00Z","ending_at":"2026-11-26T00:00:00Z",${more}}`;
        if (!url.pathname.endsWith("/cost")) {
          return [bucket(
            `"group":{${group}},"usage":{${anthropicUsage(own)},"total_tokens":1,"requests":${own.length}}`,
          )];
        }
        return amountsOf(own, isFirst ? more : 0n).map(([count, usd]) =>
          bucket(
            `"group":{${group},"cost_type":"tokens","token_type":"${TOKEN_TYPES[count]}"},` +
              `"cost":{"amount":"${movePoint(usd, 2)}","list_amount":"${
                movePoint(usd, 2)
              }","currency":"USD","requests":null}`,
          )
        );
      }),
  },
  "anthropic-legacy": {
    provider: "anthropic",
    models: CLAUDE,
    countsNoRequests: true,
    rows(calls, url, more) {
      const results = byModel(calls, (model, own, isFirst) => {
        const group = `"model":"${model}","service_tier":"standard"`;
        if (url.pathname !== "/v1/organizations/cost_report") {
          return [`{${group},"api_key_id":null,${anthropicUsage(own)}}`];
        }
        return amountsOf(own, isFirst ? more : 0n).map(([count, usd]) =>
          `{"amount":"${movePoint(usd, 2)}","currency":"USD","description":"d","cost_type":"tokens",` +
          `"token_type":"${TOKEN_TYPES[count]}",${group},"workspace_id":null}`
        );
      });
      return [
        `{"starting_at":"${DAY}T00:00:00Z","ending_at":"2026-11-26T00:00:00Z","results":[${
          results.join(",")
        }]}`,
      ];
    },
  },
  openai: {
    provider: "openai",
    models: ["gpt-6-astra", "gpt-5-mini"],
    credential: "key_x",
    rows(calls, url, more) {
      const isCost = url.pathname.endsWith("/costs");
      if (!isCost && !url.pathname.endsWith("/completions")) return [];
      const items = { input: "input", cacheRead: "cached input", output: "output" };
      const results = byModel(
        calls,
        (model, own, isFirst) =>
          isCost
            ? amountsOf(own, isFirst ? more : 0n).map(([count, usd]) =>
              `{"object":"organization.costs.result","amount":{"value":${usd},"currency":"usd"},` +
              `"line_item":"${model}, ${items[count]}","api_key_id":"key_x"}`
            )
            : [
              `{"object":"organization.usage.completions.result","input_tokens":${
                sumOf(own, "input") + sumOf(own, "cacheRead")
              },"input_cached_tokens":${sumOf(own, "cacheRead")},"output_tokens":${sumOf(own, "output")},` +
              `"num_model_requests":${own.length},"api_key_id":"key_x","model":"${model}"}`,
            ],
      );
      return [
        `{"object":"bucket","start_time":${START / 1_000},"end_time":${START / 1_000 + 86_400},"results":[${
          results.join(",")
        }]}`,
      ];
    },
  },
  openrouter: {
    provider: "openrouter",
    models: OPENROUTER,
    rows: (calls, _, more) =>
      calls.map((call, index) =>
        `{"date__minute":"${
          new Date(call.at - call.at % 60_000).toISOString()
        }","generation_id":"${call.id}",` +
        `"model":"${call.model}","request_count":"1","tokens_prompt":"${call.input + call.cacheRead}",` +
        `"tokens_completion":"${call.output}","cached_tokens":"${call.cacheRead}",` +
        `"credits_usage":${withMore(usdOf([call]), index === 0 ? more : 0n)},"byok_fees":0,"byok_usage":0}`
      ),
  },
  "openrouter-activity": {
    provider: "openrouter",
    models: OPENROUTER,
    countsNoCache: true,
    rows: (calls, _, more) =>
      byModel(calls, (model, own, isFirst) => [
        `{"date":"${DAY}","model":"${model}","model_permaslug":"${model}","endpoint_id":"e","provider_name":"P",` +
        `"usage":${
          withMore(usdOf(own), isFirst ? more : 0n)
        },"byok_usage_inference":0,"requests":${own.length},` +
        `"prompt_tokens":${sumOf(own, "input") + sumOf(own, "cacheRead")},"completion_tokens":${
          sumOf(own, "output")
        },"reasoning_tokens":0,"workspace_id":"w"}`,
      ]),
  },
  vercel: {
    provider: "vercel",
    models: OPENROUTER,
    rows: (calls, _, more) =>
      byModel(calls, (model, own, isFirst) => {
        const usd = withMore(usdOf(own), isFirst ? more : 0n);
        return [
          `{"model":"${model}","total_cost":${usd},"market_cost":${usd},"input_tokens":${
            sumOf(own, "input") + sumOf(own, "cacheRead")
          },"output_tokens":${sumOf(own, "output")},"cached_input_tokens":${sumOf(own, "cacheRead")},` +
          `"cache_creation_input_tokens":0,"reasoning_tokens":0,"request_count":${own.length}}`,
        ];
      }),
  },
  cursor: {
    provider: "cursor",
    models: CLAUDE,
    countsNoRequests: true,
    rows: (calls, _, more) =>
      calls.map((call, index) => {
        const usd = withMore(usdOf([call]), index === 0 ? more : 0n);
        return `{"timestamp":"${call.at}","userEmail":"ada@example.com","model":"${call.model}","kind":"Usage-based",` +
          `"maxMode":false,"isTokenBasedCall":true,"tokenUsage":{"inputTokens":${call.input},"outputTokens":${call.output},` +
          `"cacheReadTokens":${call.cacheRead},"cacheWriteTokens":0,"totalCents":${movePoint(usd, 2)}},` +
          `"chargedCents":${movePoint(usd, 2)}}`;
      }),
  },
};

/** Imports the bill of some calls by its API, books some, and compares them. */
async function compare(
  source: string,
  { billed, booked, more = 0n }: { billed: readonly Call[]; booked: readonly Call[]; more?: bigint },
): Promise<ReconciliationDetail> {
  const rules = RULES[source]!;
  const fake = FAKE_BILLS.find((bill) => bill.source === source)!;
  const isEmpty = (url: URL, body: Record<string, unknown>) => {
    const rows = fake.rows(url, body);
    return Array.isArray(rows) && rows.length === 0;
  };
  const rows = (url: URL, body: Record<string, unknown>) =>
    isEmpty(url, body) ? [] : rules.rows(billed, url, more);
  // One that has no pages says otherwise that it left some out.
  const wrap: typeof fake.wrap = (all, next, url) =>
    fake.wrap(all, source === "openrouter" ? undefined : next, url);
  const { fetch } = fakeApi({ ...fake, rows, wrap });
  const { fetch: access } = await loadSource(source, []);
  await using purser = await openTestPurser({
    clock: fixedClock("2026-12-20T12:00:00Z"),
    fetch,
    env: { [access!.key.variable]: KEY },
  });
  const calls = booked.map(({ id, at, model, input, cacheRead, output }) => {
    const usage = usageOf({
      inputTokens: input + cacheRead,
      cacheReadTokens: cacheRead,
      outputTokens: output,
    });
    return modelCall({
      ...{ callId: `call_${id}`, at, model, usage, durationMs: 0, provider: rules.provider, responseId: id },
      ...{
        source: "gateway",
        priceSource: "test",
        rates: CARD,
        upstream: { credential: rules.credential ?? "k" },
      },
      costNanoUsd: sumLines(CARD, priceLines(CARD, usage)).costNanoUsd,
    });
  });
  await purser.core.store.write([
    ...recordPrices(calls, new Set()).statements,
    ...recordUpstreams(calls, new Set()).statements,
    ...recordCalls(calls),
    { sql: "UPDATE upstreams SET key_id = credential" },
  ]);
  for (let status = ""; status !== "done";) {
    const { body } = await purser.api("POST", "/bills/imports", {
      source,
      from: "2026-11-24T00:00:00Z",
      to: "2026-11-26T00:00:00Z",
    });
    assert.ok(body.status, JSON.stringify(body));
    status = body.status;
    if (status === "done") assert.deepEqual(body.unknown, {});
  }
  const { status, body } = await purser.api("POST", "/reconciliations", { source, month: "2026-11" });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const causesOf = ({ causes }: ReconciliationDetail) =>
  Object.fromEntries(
    causes.filter(({ amount_usd }) => amount_usd !== 0).map((one) => [one.cause, one.amount_usd]),
  );
const usd = (nano: bigint) => Number(formatUsd(nano));

const anyCalls = (models: readonly string[]) =>
  fc.array(
    fc.record({
      at: fc.integer({ min: 1, max: 86_000 }).map((seconds) => START + seconds * 1_000),
      model: fc.constantFrom(...models),
      input: fc.integer({ min: 1, max: 200_000 }),
      cacheRead: fc.constantFrom(0, 0, 1, 1_024, 96_128),
      output: fc.integer({ min: 1, max: 60_000 }),
    }),
    { minLength: 2, maxLength: 6 },
  ).map((calls) => calls.map((call, index): Call => ({ ...call, id: `gen-${index}` })));

for (const [source, { models, countsNoRequests, countsNoCache }] of Object.entries(RULES)) {
  Deno.test(`${source}: an imported bill agrees with its calls; what is left out of either, or billed too much, is that amount`, async () => {
    await fc.assert(
      fc.asyncProperty(anyCalls(models), async (calls) => {
        const whole = await compare(source, { billed: calls, booked: calls });
        assert.deepEqual(causesOf(whole), {});
        assert.deepEqual([whole.bill_usd, whole.difference_usd, whole.unexplained_usd], [
          usd(nanoOf(calls)),
          0,
          0,
        ]);
        const { of_scope, of_account, of_ledger } = whole.coverage;
        assert.deepEqual([of_scope, of_account, of_ledger], [1, 1, 1]);

        const [first, ...others] = calls as [Call, ...Call[]];
        const amount = usd(nanoOf([first]));
        const isAlone = !others.some(({ model }) => model === first.model);
        const assertCause = (found: ReconciliationDetail, cause: Cause, amount: number) => {
          assert.equal(found.difference_usd, amount);
          if ((countsNoRequests || countsNoCache) && !isAlone) return;
          assert.equal(found.unexplained_usd, 0);
          assert.deepEqual(causesOf(found), { [cause]: amount });
        };
        assertCause(await compare(source, { billed: calls, booked: others }), "bypass", amount);
        assertCause(await compare(source, { billed: others, booked: calls }), "not_billed", -amount);

        const dear = await compare(source, { billed: calls, booked: calls, more: 1_000_000_000n });
        assert.equal(dear.difference_usd, 1);
        const [[cause, more]] = Object.entries(causesOf(dear)) as [[string, number]];
        assert.ok(["price", "unexplained"].includes(cause) && more === 1, `${cause}: ${more}`);
      }),
      { numRuns: cases(2) },
    );
  });
}
