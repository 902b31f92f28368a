import assert from "node:assert/strict";
import { publishedPrices } from "../../tests/harness/price_files.ts";
import { inDirectory } from "../../tests/harness/in_directory.ts";
import { fixedClock } from "../kernel/clock.ts";
import { silentLog } from "../kernel/log.ts";
import { createLazyPriceBook } from "./lazy_prices.ts";
import { updatePrices } from "./updates/mod.ts";
import { usageOf } from "./usage/usage.ts";

const clock = fixedClock("2026-12-01T12:00:00.000Z");
const query = { provider: "openai", model: "gpt-4", at: clock.now() };
const usage = usageOf({ inputTokens: 1_000_000, outputTokens: 0 });

Deno.test("a lazy price book bills by updated prices after refresh(), and a book that was taken before does not", () =>
  inDirectory(async (directory) => {
    const folder = `${directory}/prices`;
    const book = createLazyPriceBook({ folder });
    assert.throws(() => book.price({ ...query, usage }), /not loaded yet/);
    assert.equal(await book.refresh(), false);
    await book.ready();
    const before = book.current();
    assert.equal(book.price({ ...query, usage }).costNanoUsd, 30_000_000_000n);
    assert.equal(await book.refresh(), false);

    const prices = { input_mtok: 40, output_mtok: 60 };
    await Deno.writeTextFile(`${directory}/data.json`, await publishedPrices([{ ...query, prices }]));
    const input = { from: `${directory}/data.json`, accepted: new Set<string>(), isDryRun: false };
    const { date } = await updatePrices({ clock, fetch, folder, log: silentLog }, input);
    assert.equal(book.price({ ...query, usage }).costNanoUsd, 30_000_000_000n);
    assert.equal(await book.refresh(), true);
    assert.equal(await book.refresh(), false);
    const price = book.price({ ...query, usage });
    assert.deepEqual([price.costNanoUsd, price.priceSource], [40_000_000_000n, `genai-prices@${date}`]);
    assert.equal(before.price({ ...query, usage }).costNanoUsd, 30_000_000_000n);

    await Deno.remove(folder, { recursive: true });
    assert.equal(await book.refresh(), true);
    assert.equal(book.price({ ...query, usage }).costNanoUsd, 30_000_000_000n);
  }));
