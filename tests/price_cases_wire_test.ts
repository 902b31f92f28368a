import assert from "node:assert/strict";
import { fixedClock } from "../src/kernel/clock.ts";
import { BUILT_IN_PROVIDERS } from "../src/contract/values.ts";
import {
  CASES_AT,
  costOfBill,
  estimateCases,
  type PriceCase,
  priceCases,
  type Wire,
} from "./fixtures/prices/mod.ts";
import { type FakeProvider, startFakeProvider } from "./harness/fake_provider.ts";
import { isThorough } from "./harness/thorough.ts";
import { openTestPurser, rejection, type TestPurser } from "./harness/test_purser.ts";

/** The providers whose own packages make the calls; `chat` is the other API of OpenAI. */
const PROVIDERS: Partial<Record<Wire, string>> = {
  chat: "openai",
  responses: "openai",
  anthropic: "anthropic",
  gemini: "google",
};

const builtIn: readonly string[] = BUILT_IN_PROVIDERS;

/** The cases that a run can make: those of an alias of a provider can only be reported. */
const runnable = priceCases.filter(({ wire, provider }) =>
  wire === "compatible" ? !builtIn.includes(provider) : PROVIDERS[wire] === provider
);

/** A Purser whose clock can be set, and with every server of the table in its config. */
async function openWire(fake: FakeProvider): Promise<{ purser: TestPurser; setTime(at: number): void }> {
  let now = 0;
  const clock = { ...fixedClock(0), now: () => now, monotonic: () => now };
  const names = runnable.filter(({ wire }) => wire === "compatible").map(({ provider }) => provider);
  const providers = Object.fromEntries(names.map((name) => [name, { baseUrl: fake.baseUrls.compatible }]));
  const purser = await openTestPurser({ fake, clock, config: { providers } });
  return { purser, setTime: (at) => now = at };
}

/** Runs an agent against the answer of a case, and returns what the ledger has of its call. */
async function book(
  purser: TestPurser,
  { wire, provider, model }: PriceCase,
  way: "whole" | "streamed",
): Promise<unknown[]> {
  const { run_id } = await purser.run(
    { model: `${wire === "chat" ? "openai.chat" : provider}:${model}` },
    "What does it cost?",
    way === "streamed" ? { onPart: () => {} } : {},
  );
  const { rows } = await purser.core.store.read({
    sql: "SELECT cost_nano_usd, unpriced_parts, price_source, is_estimated FROM calls WHERE run_id = ?",
    args: [run_id],
  });
  assert.equal(rows.length, 1);
  const [cost, unpricedParts, source, isEstimated] = rows[0]!;
  return [
    cost,
    JSON.parse(String(unpricedParts ?? "[]")),
    String(source).replace(/@.*/, "@"),
    Number(isEstimated),
  ];
}

for (const way of ["whole", "streamed"] as const) {
  for (const wire of ["chat", "responses", "anthropic", "gemini", "compatible"] as const) {
    // The gate tries every other one; the gateway's test has those that are left out.
    const isTried = (index: number) => isThorough || (index % 2 === 0) === (way === "whole");
    const cases = runnable.filter((one) => one.wire === wire).filter((_, index) => isTried(index));
    Deno.test(`the ledger has the bill of each ${wire} answer of the table, ${way}, to the nano-USD`, async () => {
      await using fake = await startFakeProvider();
      const { purser, setTime } = await openWire(fake);
      await using _ = purser;
      const differences: unknown[] = [];
      for (const one of cases) {
        setTime(one.at);
        fake.enqueue({ answer: one.answer });
        const expected = [costOfBill(one.bill), one.unpricedParts, one.source, 0];
        const booked = await book(purser, one, way);
        const isSame = JSON.stringify(booked, asText) === JSON.stringify(expected, asText);
        if (!isSame) differences.push([one.dimension, one.rule, one.model, one.bill, booked]);
      }
      assert.deepEqual(differences, []);
      assert.equal(fake.calls, cases.length);
      assert.ok(fake.requests.every(({ isStreamed }) => isStreamed === (way === "streamed")));
    });
  }
}

const asText = (_: string, value: unknown) => typeof value === "bigint" ? String(value) : value;

for (const { rule, provider, model, frames, bill } of estimateCases) {
  Deno.test(`estimate: ${rule}: ${provider} ${model} costs ${bill}`, async () => {
    await using fake = await startFakeProvider();
    const { purser, setTime } = await openWire(fake);
    await using _ = purser;
    setTime(Date.parse(CASES_AT));
    fake.enqueue({ brokenAfter: frames });
    await rejection(purser.run({ model: `${provider}:${model}` }, "What?", { onPart: () => {} }));
    const { rows } = await purser.core.store.read({ sql: "SELECT cost_nano_usd, is_estimated FROM calls" });
    assert.deepEqual(rows, [[costOfBill(bill), 1n]]);
    assert.equal(fake.calls, 1);
  });
}
