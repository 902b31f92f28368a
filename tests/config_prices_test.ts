import assert from "node:assert/strict";
import type { PriceOverride } from "../src/config/mod.ts";
import { sendTo } from "./gateway/requests.ts";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** A server reads the prices of its config file again when the file has changed. */

const priceOf = (usd: number): PriceOverride => ({
  provider: "openai",
  model: "house-model",
  input_usd_per_million: usd,
  output_usd_per_million: 0,
});

async function withConfig(
  options: { isServer: boolean; prices: PriceOverride[] },
  test: (place: {
    purser: TestPurser;
    write(text: string): Promise<void>;
    /** Calls the model, and returns the status and the cost in USD. */
    ask(): Promise<[status: number, cost: string | null]>;
  }) => Promise<void>,
): Promise<void> {
  await inDirectory(async (directory) => {
    const configPath = `${directory}/purser.json`;
    await Deno.writeTextFile(configPath, JSON.stringify({ prices: options.prices }));
    const usage = { inputTokens: 1_000_000, outputTokens: 1 };
    await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi", usage }));
    await using purser = await openTestPurser({
      fake,
      isServer: options.isServer,
      config: { configPath, prices: options.prices },
    });
    await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 1_000 });
    const body = { model: "house-model", messages: [{ role: "user", content: "Hi" }] };
    await test({
      purser,
      write: (text) => Deno.writeTextFile(configPath, text),
      async ask() {
        await purser.core.prices.refresh();
        const { status, headers } = await sendTo(purser, { path: "/v1/chat/completions", body });
        return [status, headers.get("x-purser-cost-usd")];
      },
    });
  });
}

Deno.test("a price that is added to the config of a server, changed and removed holds from then on, without a restart", () =>
  withConfig({ isServer: true, prices: [] }, async ({ purser, write, ask }) => {
    assert.deepEqual(await ask(), [402, null]);
    await write(JSON.stringify({ prices: [priceOf(2)], log_level: "warn" }));
    assert.deepEqual(await ask(), [200, "2"]);
    await write(JSON.stringify({ prices: [priceOf(12.5)] }));
    assert.deepEqual(await ask(), [200, "12.5"]);
    const said = purser.logs.filter(({ message }) => message.startsWith("The prices have changed"));
    assert.deepEqual(said.map(({ level, fields }) => [level, fields.overrides]), [["info", 1], ["info", 1]]);
    // Another setting is no change of prices.
    await write(JSON.stringify({ prices: [priceOf(12.5)], log_level: "error" }));
    assert.deepEqual(await ask(), [200, "12.5"]);
    assert.equal(
      purser.logs.filter(({ message }) => message.startsWith("The prices have changed")).length,
      2,
    );
    await write(JSON.stringify({}));
    assert.deepEqual(await ask(), [402, null]);
  }));

Deno.test("while the config can't be read, or has an error, the prices before hold, and the log says why", () =>
  withConfig({ isServer: true, prices: [priceOf(2)] }, async ({ purser, write, ask }) => {
    assert.deepEqual(await ask(), [200, "2"]);
    for (
      const [text, reason] of [
        ['{"prices": [', /JSON|config/],
        [JSON.stringify({ prices: [{ ...priceOf(3), input_usd_per_million: -1 }] }), /input_usd_per_million/],
        [JSON.stringify({ prices: [priceOf(3)], log_levle: "warn" }), /log_levle/],
      ] as const
    ) {
      await write(text);
      assert.deepEqual(await ask(), [200, "2"], text);
      const warned = purser.logs.findLast(({ level }) => level === "warn")!;
      assert.match(warned.message, /^The prices of the config can't be read again; those before are used$/);
      assert.match(String(warned.fields.reason), reason);
    }
    await write(JSON.stringify({ prices: [priceOf(3)] }));
    assert.deepEqual(await ask(), [200, "3"]);
  }));

Deno.test("a command, which ends soon, bills by the prices that it has begun with", () =>
  withConfig({ isServer: false, prices: [priceOf(2)] }, async ({ write, ask }) => {
    await write(JSON.stringify({ prices: [priceOf(3)] }));
    assert.deepEqual(await ask(), [200, "2"]);
  }));
