import assert from "node:assert/strict";
import { bookLooseCalls } from "../../../calls/mod.ts";
import type { ModelCall } from "../../../ledger/mod.ts";
import { type Rates, usageOf } from "../../../pricing/mod.ts";
import { modelCall } from "../../../../tests/harness/model_calls.ts";
import { openTestBooks } from "../../../../tests/harness/test_books.ts";

const PRICES = [{ provider: "local", model: "new", input_usd_per_million: 1, output_usd_per_million: 4 }];

const RATES: Rates = {
  source: "genai-prices@2026-11-20",
  model: "old-2026",
  tiers: [-1, 200_000].map((aboveInputTokens, index) => ({
    aboveInputTokens,
    input: 1_250_000n * BigInt(1 + index),
    output: 10_000_000n,
    reasoning: 10_000_000n,
    cacheRead: 125_000n,
    cacheWrite: 1_250_000n,
    cacheWrite1h: 1_250_000n,
    details: { web_searches: 10_000_000_000n },
  })),
};

const USAGE = usageOf({
  inputTokens: 201_000,
  cacheReadTokens: 1_000,
  outputTokens: 3,
  details: { web_searches: 2, code_executions: 1 },
});

async function openBooks(calls: readonly Partial<ModelCall>[]) {
  const books = await openTestBooks({ prices: PRICES });
  await bookLooseCalls(
    books.core,
    calls.map((call, index) =>
      modelCall({ callId: `call_${index + 1}`, at: books.clock.now() - 1_000, ...call })
    ),
  );
  return books;
}

const UNPRICED = { provider: "local", model: "new", costNanoUsd: null, priceSource: "none" };
const PARTLY: Partial<ModelCall> = {
  provider: "openai",
  model: "old",
  usage: USAGE,
  costNanoUsd: 520_155_000n,
  unpricedParts: ["code_executions"],
  priceSource: RATES.source,
  rates: RATES,
  serviceTier: "flex",
};

Deno.test("purser reprice shows what would change, books it with --apply, and takes it back", async () => {
  await using books = await openBooks([UNPRICED, UNPRICED, { model: "echo" }]);
  const planned = await books.purser("reprice --unpriced");
  assert.equal(
    planned.out,
    `MODEL      CALLS  CHANGED    BEFORE      AFTER  UNPRICED
local:new      2        2  no price  $0.000036     2 > 0

2 calls of 2 would change, by +$0.000036 in all
`,
  );
  assert.equal(planned.err, "Nothing was changed: apply with --apply\n");
  const applied = await books.purser("reprice --unpriced --apply");
  assert.match(applied.out, /\n2 calls of 2 have changed, by \+\$0\.000036 in all\n(rep_\d+) is applied; /);
  assert.equal(applied.err, "");
  assert.match((await books.purser("cost --by model")).out, /local:new .* \$0\.000036 /);
  assert.match(
    (await books.purser("reprice list")).out,
    /\nrep_\d+ +applied +2026-11-21 09:30 +2 +\+\$0\.000036\n/,
  );
  const id = /rep_\d+/.exec(applied.out)![0];
  const explained = (await books.purser("cost explain call_1")).out;
  assert.match(explained, /As booked\nNo price was known\n/);
  assert.match(
    explained,
    new RegExp(`Repriced by ${id}, 2026-11-21 09:30:00 UTC: \\+\\$0\\.000018\nBy the rates of config\n`),
  );
  assert.match((await books.purser(`reprice undo ${id}`)).out, /is undone\n$/);
  assert.match(
    (await books.purser("cost explain call_1")).out,
    /Undone by rep_.*: -\$0\.000018\nCost no price\n$/,
  );
});

Deno.test("purser cost explain shows tiers, searches, what has no price, and how a call was served", async () => {
  await using books = await openBooks([PARTLY]);
  assert.equal(
    (await books.purser("cost explain call_1")).out,
    `Call    call_1
Time    2026-11-21 09:29:59 UTC
Agent   agent
Model   openai:old
Served  tier flex
Ended   2026-11-21 09:29:59 UTC
Tokens  201,000 in, 3 out
Cost    $0.520155 + code_executions without a known price

As booked
By the rates of genai-prices@2026-11-20, as old-2026, tier 2 of 2, above 200,000 input tokens
PART               QUANTITY         RATE       USD
input_tokens        200,000    $2.5 / 1M       0.5
cache_read_tokens     1,000  $0.125 / 1M  0.000125
output_tokens             3     $10 / 1M   0.00003
web_searches              2     $10 / 1k      0.02
code_executions           1      unknown         -
Sum $0.520155, rounded half to even: $0.520155
No price is known for code_executions
`,
  );
});

Deno.test("purser cost explain fails where a stored cost is not what its rates give", async () => {
  await using books = await openBooks([{ ...PARTLY, costNanoUsd: 520_155_001n }]);
  const { code, out, err } = await books.purser("cost explain call_1");
  assert.equal(code, 1);
  assert.match(out, /Stored: 0\.000000001 USD more than its rates give\n$/);
  assert.match(err, /^warning: The stored cost is not the one that its rates give/);
});

Deno.test("purser cost explain names costs that no rates made", async () => {
  await using books = await openBooks([
    { priceSource: "reported" },
    { priceSource: "provider", rates: RATES, usage: usageOf({ inputTokens: 8 }), listCostNanoUsd: 10_000n },
    { priceSource: "genai-prices@2026-01-01", rates: null, isEstimated: true },
    { priceSource: "reported", statedNanoUsd: 0n, statedReason: "zero" },
    {
      priceSource: "none",
      costNanoUsd: null,
      rates: null,
      statedNanoUsd: 2_000_000n,
      statedReason: "undocumented",
    },
  ]);
  assert.match(
    (await books.purser("cost explain call_4")).out,
    /\nStated {2}\$0, not booked: 0 beside tokens is no bill\n/,
  );
  assert.match(
    (await books.purser("cost explain call_5")).out,
    /\nStated {2}\$0\.002, not booked: the provider does not document it as its bill\n/,
  );
  assert.match(
    (await books.purser("cost explain call_1")).out,
    /\$0\.000001 was reported with the call; no rates/,
  );
  const stated = (await books.purser("cost explain call_2")).out;
  assert.match(stated, /\$0\.000001 was stated by the provider; beside it, the rates of genai-prices/);
  assert.match(stated, /\nList price \$0\.00001\n$/);
  const old = (await books.purser("cost explain call_3")).out;
  assert.match(old, /by genai-prices@2026-01-01; this call was booked before rates were kept\n$/);
  assert.match(old, /an estimate/);
});

Deno.test("partly priced calls are shown beside unpriced ones", async () => {
  await using books = await openBooks([{ ...PARTLY, sessionId: "s", agentId: "ann" }, { sessionId: "s" }]);
  const { out, err } = await books.purser("cost --by agent");
  assert.match(out, /^AGENT .* PARTLY\nann .* 1\n/);
  assert.match(err, /^warning: 1 call has a part without a known price, which counts as \$0 here: /);
  assert.match((await books.purser("cost")).out, /^SPENDING .* PARTLY\nToday .* 1\n/);
});

Deno.test("purser cost --what-if prices the same tokens on another model", async () => {
  await using books = await openBooks([
    { model: "a", usage: usageOf({ inputTokens: 1_000_000 }), costNanoUsd: 2_000_000_000n },
    {
      model: "b",
      usage: usageOf({ inputTokens: 1_000_000, outputTokens: 250_000 }),
      costNanoUsd: 1_000_000_000n,
    },
  ]);
  const { out, err } = await books.purser("cost --what-if local:new");
  assert.equal(
    out,
    `MODEL   CALLS   COST  ON local:new  CHANGE
demo:a      1  $2.00         $1.00    -50%
demo:b      1  $1.00         $2.00   +100%
All         2  $3.00         $3.00      0%
`,
  );
  assert.match(err, /^The rates are those of config as of now/);
  const { code, err: unknown } = await books.purser("cost --what-if local:old");
  assert.equal(code, 1);
  assert.match(unknown, /no price is known for it; set it by purser prices set \S+ --input … --output …$/m);
});
