import assert from "node:assert/strict";
import { DAY_MS, fixedClock, HOUR_MS, MINUTE_MS } from "../src/kernel/clock.ts";
import { PRICE_URLS, updatePrices } from "../src/pricing/updates/mod.ts";
import { startPriceUpdates } from "../src/service/price_updates.ts";
import { EVENT } from "./harness/bodies.ts";
import { check } from "./harness/doctor.ts";
import { fakeModel } from "./harness/fake_model.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { publishedPrices } from "./harness/price_files.ts";
import { type LogLine, openTestPurser } from "./harness/test_purser.ts";

/** Updated prices in a running service: picked up, kept current, and checked by the doctor. */

const NOW = "2026-12-01T12:00:00.000Z";

function recordingLog(logs: LogLine[]) {
  const line = (level: string) => (message: string, fields = {}) =>
    void logs.push({ level, message, fields });
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

/** A `fetch` that answers with published files, and counts requests. */
function publishing(files: Record<string, string>) {
  const asked: string[] = [];
  const fetch = (input: RequestInfo | URL) => {
    asked.push(String(input));
    const file = files[String(input)];
    return Promise.resolve(new Response(file ?? "gone", { status: file === undefined ? 500 : 200 }));
  };
  return { asked, fetch: fetch as typeof globalThis.fetch };
}

/** Lets everything that doesn't wait for the clock run to its end. */
async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 2_000 && !holds(); i++) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(holds(), "the condition holds in time");
}

Deno.test("a server with daily updates bills by new prices, and takes no change that is held back", () =>
  inDirectory(async (directory) => {
    const folder = `${directory}/prices`;
    const clock = fixedClock(NOW);
    await using purser = await openTestPurser({ clock, config: { pricesFolder: folder } });
    const price = async (call_id: string, model: string) => {
      const { body } = await purser.api("POST", "/costs/events", [{
        ...EVENT,
        call_id,
        at: new Date(clock.now()).toISOString(),
        provider: "openai",
        model,
        input_tokens: 1_000_000,
        output_tokens: 0,
        cost_usd: undefined,
      }]);
      assert.equal(body.booked, 1, JSON.stringify(body));
      const { body: rows } = await purser.api("GET", "/costs?group_by=model");
      return rows.find((row: { model: string }) => row.model === model).cost_usd;
    };
    assert.equal(await price("one", "gpt-new"), null);
    assert.equal(await price("two", "gpt-4"), 30);

    const { fetch, asked } = publishing({
      [PRICE_URLS["genai-prices"]]: await publishedPrices([
        { provider: "openai", model: "gpt-new", prices: { input_mtok: 7, output_mtok: 20 } },
        { provider: "openai", model: "gpt-4", prices: { input_mtok: 300, output_mtok: 600 } },
      ]),
    });
    const logs: LogLine[] = [];
    const stop = new AbortController();
    const ctx = { clock, fetch, folder, log: recordingLog(logs), random: () => 0.5 };
    const ended = startPriceUpdates(ctx, stop.signal);
    clock.advance(HOUR_MS / 2 - 1);
    assert.deepEqual(asked, []);
    clock.advance(1);
    await until(() => logs.length === 3);
    assert.deepEqual(asked, [PRICE_URLS["genai-prices"], PRICE_URLS.litellm]);
    assert.deepEqual(logs.map(({ level, message }) => [level, message]), [
      ["info", "The prices were updated"],
      ["warn", "Changes of prices are held back until they are accepted; run purser prices update"],
      ["warn", "The prices could not be updated"],
    ]);
    assert.deepEqual(logs[1]!.fields.models, ["openai:gpt-4"]);

    assert.equal(await price("three", "gpt-4"), 60);
    const reloaded = () => purser.logs.some(({ message }) => message.startsWith("The prices have changed"));
    clock.advance(MINUTE_MS);
    await until(reloaded);
    assert.equal(await price("four", "gpt-4"), 90);
    assert.equal(await price("five", "gpt-new"), 7);

    // The file system has the machine's time, and not that of the test's clock.
    await Deno.utime(`${folder}/genai_prices.json`, clock.now() / 1000, clock.now() / 1000);
    // Another server that shares the folder finds the prices of today, and tries what failed again.
    const other = startPriceUpdates({ ...ctx, random: () => 0 }, stop.signal);
    await until(() => asked.length === 3);
    assert.equal(asked[2], PRICE_URLS.litellm);
    stop.abort();
    await Promise.all([ended, other]);
  }));

Deno.test("a call keeps the price by which its strict budget admitted it, also where prices rise meanwhile", () =>
  inDirectory(async (directory) => {
    const folder = `${directory}/prices`;
    const clock = fixedClock(NOW);
    const file = `${directory}/data.json`;
    await Deno.writeTextFile(
      file,
      await publishedPrices([{
        provider: "openai",
        model: "gpt-4",
        prices: { input_mtok: 60, output_mtok: 120 },
      }]),
    );
    const { model } = fakeModel(async (_, call) => {
      if (call > 0) return { inputTokens: 10, outputTokens: 100 };
      const input = { from: file, accepted: new Set<string>(), isDryRun: false };
      await updatePrices({ clock, fetch, folder, log: recordingLog([]) }, input);
      await purser.core.prices.refresh();
      return { inputTokens: 10, outputTokens: 100 };
    });
    await using purser = await openTestPurser({
      clock,
      models: { "openai:gpt-4": model },
      config: { pricesFolder: folder },
    });
    const agent = { model: "openai:gpt-4", budgetNanoUsd: 10_000_000_000n, budgetMode: "strict" as const };
    const cost = async () => (await purser.run(agent, "hi")).token_usage.cost_usd;
    // 10 x 30 + 100 x 60, and 10 x 60 + 100 x 120, in USD per million
    assert.equal(await cost(), 0.0063);
    assert.equal(await cost(), 0.0126);
    assert.deepEqual(purser.logs.filter(({ message }) => /bound/.test(message)), []);
  }));

Deno.test("the doctor warns of prices that are older than two weeks", async () => {
  const clock = fixedClock(NOW);
  await using purser = await openTestPurser({ clock });
  const { sources } = (await purser.api("GET", "/prices")).body;
  const newest = Math.max(...sources.map(({ date }: { date: string }) => Date.parse(date)));
  clock.advance(newest + 15 * DAY_MS - 1 - clock.now());
  assert.equal((await check(purser, "prices")).status, "ok");
  clock.advance(1);
  const { status, detail, advice } = await check(purser, "prices");
  assert.equal(status, "warning");
  assert.match(detail, /; the newest are 15 days old$/);
  assert.match(advice!, /^Run purser prices update where this process runs; .*"price_updates": "daily"/);
});

Deno.test("the doctor names models in use without a price and those with disputed prices, of the last 30 days", async () => {
  const clock = fixedClock(NOW);
  await using purser = await openTestPurser({ clock });
  const { catalog } = await purser.core.prices.inUse();
  const [disputed] = catalog.compareSources(clock.now());
  const report = async (call_id: string, provider: string, model: string, more: object = {}) => {
    const at = new Date(clock.now()).toISOString();
    const event = { ...EVENT, call_id, at, provider, model, cost_usd: undefined, ...more };
    assert.equal((await purser.api("POST", "/costs/events", [event])).body.booked, 1);
  };
  await report("old", "openai", "gpt-4o-minu");
  clock.advance(31 * DAY_MS);
  await report("priced", "openai", "gpt-4o");
  await report("reported", "mine", "own-model", { cost_usd: 1 });
  assert.deepEqual(await check(purser, "prices of models"), {
    name: "prices of models",
    status: "ok",
    detail: "2 in use in the last 30 days, none of them unpriced",
    advice: null,
  });
  await report("unpriced", "openai", "gpt-5-minni");
  await report("disputed", disputed!.provider, disputed!.model);
  const { status, detail, advice } = await check(purser, "prices of models");
  assert.equal(status, "warning");
  assert.match(detail, /^without a price: openai:gpt-5-minni \(the nearest known is gpt-5-mini\); /);
  assert.match(detail, /; the sources differ by over 1%: .+ \(\w+_mtok: [\d.]+, by LiteLLM [\d.]+\)$/);
  assert.match(
    advice!,
    /^See purser prices show openai:gpt-5-minni; update the prices, or set it by purser prices set openai:gpt-5-minni /,
  );
});

Deno.test("doctor names the models in use that have ended, or end within 30 days", async () => {
  const clock = fixedClock("2026-11-20T12:00:00.000Z");
  await using purser = await openTestPurser({ clock });
  const at = new Date(clock.now()).toISOString();
  const events = ["gpt-4", "gpt-5", "gpt-5.6"].map((model) => (
    { ...EVENT, call_id: model, at, provider: "openai", model, cost_usd: undefined }
  ));
  assert.equal((await purser.api("POST", "/costs/events", events)).body.booked, 3);
  assert.deepEqual(await check(purser, "prices of models"), {
    name: "prices of models",
    status: "warning",
    // https://developers.openai.com/api/docs/deprecations
    detail: "ended by their providers: openai:gpt-4 (2026-10-23); ending soon: openai:gpt-5 (2026-12-11)",
    advice:
      "See purser prices show openai:gpt-4 and the provider's page of models; choose another one in time",
  });
});

Deno.test("the explanation of a call names the source of each rate", async () => {
  const clock = fixedClock("2026-11-20T12:00:00.000Z");
  await using purser = await openTestPurser({ clock });
  const { genai, litellm } = (await purser.core.prices.inUse()).listed;
  const event = {
    ...EVENT,
    ...{ call_id: "mixed", at: new Date(clock.now()).toISOString(), cost_usd: undefined },
    ...{ provider: "google", model: "gemini-3.8-flash", service_tier: "priority" },
    ...{ input_tokens: 100, output_tokens: 10, web_searches: 1 },
  };
  assert.equal((await purser.api("POST", "/costs/events", [event])).body.booked, 1);
  const { body } = await purser.api("GET", "/costs/calls/mixed");
  const { rate_card, computed_usd, difference_usd } = body.booked;
  assert.equal(rate_card.source, `litellm@${litellm.date}`);
  assert.equal(rate_card.sources.web_searches, `genai-prices@${genai.date}`);
  assert.equal(rate_card.sources.output_tokens, undefined);
  // 100 x 1.35 and 10 x 6.75 USD per million, and a search of 14 USD per thousand.
  assert.deepEqual([computed_usd, difference_usd], [0.0142025, 0]);
});
