import assert from "node:assert/strict";
import { inDirectory } from "../../../tests/harness/in_directory.ts";
import { publish, publishedPrices, type PublishingServer } from "../../../tests/harness/price_files.ts";
import { fixedClock } from "../../kernel/clock.ts";
import { sha256Hex } from "../../kernel/encoding.ts";
import { silentLog } from "../../kernel/log.ts";
import { readUsedPrices } from "./used_prices.ts";
import { DOWNLOAD_TIMEOUT_MS } from "./mod.ts";
import { type UpdateInput, updatePrices } from "./mod.ts";

const NEW_MODEL = { provider: "openai", model: "gpt-new", prices: { input_mtok: 7, output_mtok: 20 } };
const DEARER = { provider: "openai", model: "gpt-4", prices: { input_mtok: 300, output_mtok: 600 } };
const FILES = {
  "good.json": await publishedPrices([NEW_MODEL, DEARER]),
  "day1.json": await publishedPrices([{ ...DEARER, prices: { input_mtok: 80, output_mtok: 60 } }]),
  "day2.json": await publishedPrices([{ ...DEARER, prices: { input_mtok: 200, output_mtok: 60 } }]),
  "cache.json": await publishedPrices([{
    ...DEARER,
    prices: { input_mtok: 30, output_mtok: 60, ...{ cache_read_mtok: 3 } },
  }]),
  "page.html": "<!doctype html><h1>Sign in</h1>",
  "other.json": '{"models":3}',
  "half.json": (await publishedPrices()).slice(0, 100_000),
  "litellm.json": JSON.stringify({
    "gpt-new": {
      litellm_provider: "openai",
      mode: "chat",
      input_cost_per_token: 1e-6,
      output_cost_per_token: 2e-6,
    },
    // A price of 1,000 tokens, as that of one.
    "azure_ai/jais-30b-chat": {
      litellm_provider: "azure_ai",
      mode: "chat",
      input_cost_per_token: 0.0032,
      output_cost_per_token: 0.00971,
    },
    "groq/gpt-4o": {
      litellm_provider: "groq",
      mode: "chat",
      input_cost_per_token: 0.0009,
      output_cost_per_token: 0.0009,
    },
  }),
};

interface Folder {
  folder: string;
  server: PublishingServer;
  clock: ReturnType<typeof fixedClock>;
  warnings: string[];
  update(from: string, more?: Partial<UpdateInput>): ReturnType<typeof updatePrices>;
  used(): ReturnType<typeof readUsedPrices>;
}

function inFolder(test: (given: Folder) => Promise<void>): Promise<void> {
  return inDirectory(async (directory) => {
    await using server = publish(FILES);
    const folder = `${directory}/prices`;
    const clock = fixedClock("2027-01-02T03:04:05.000Z");
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
    const ctx = { clock, fetch, folder, log };
    await test({
      folder,
      server,
      clock,
      warnings,
      update: (from, more) =>
        updatePrices(ctx, {
          from: /^[\w/]*\.?\w+$/.test(from) && !from.startsWith("/") ? `${server.url}/${from}` : from,
          accepted: new Set(),
          isDryRun: false,
          ...more,
        }),
      used: () => readUsedPrices(folder, log),
    });
  });
}

const read = (path: string) => Deno.readTextFile(path);
const exists = (path: string) => Deno.stat(path).then(() => true, () => false);

Deno.test("updatePrices() takes a published file, dated today, and holds back what is implausible", () =>
  inFolder(async ({ update, used, folder }) => {
    const result = await update("good.json");
    assert.deepEqual([result.source, result.date, result.path], [
      "genai-prices",
      "2027-01-02",
      `${folder}/genai_prices.json`,
    ]);
    assert.deepEqual(result.added, ["openai:gpt-new"]);
    assert.deepEqual(result.held.map(({ model }) => model), ["openai:gpt-4"]);
    const { genai, updated } = await used();
    assert.deepEqual([...updated], ["genai-prices"]);
    assert.equal(genai.license, "MIT");
    const models = genai.providers.find(({ id }) => id === "openai")!.models;
    assert.deepEqual(models.find(({ id }) => id === "gpt-new")!.prices, NEW_MODEL.prices);
    assert.deepEqual(models.find(({ id }) => id === "gpt-4")!.prices, { input_mtok: 30, output_mtok: 60 });
    const accepted = await update("good.json", { accepted: new Set(["openai:gpt-4", "openai:gpt-9000"]) });
    assert.deepEqual(accepted.changed.map(({ model }) => model), ["openai:gpt-4"]);
    assert.deepEqual(accepted.unknown, ["openai:gpt-9000"]);
  }));

Deno.test("updatePrices() writes nothing in a dry run, and keeps one previous copy otherwise", () =>
  inFolder(async ({ update, folder }) => {
    const path = `${folder}/genai_prices.json`;
    assert.equal((await update("good.json", { isDryRun: true })).path, undefined);
    assert.equal(await exists(folder), false);
    await update("good.json");
    const first = await read(path);
    assert.equal(await exists(`${path}.bak`), false);
    await update("good.json", { accepted: "all" });
    assert.equal(await read(`${path}.bak`), first);
    assert.notEqual(await read(path), first);
  }));

Deno.test("updatePrices() takes no rises that compound", () =>
  inFolder(async ({ update }) => {
    const heldOf = async (file: string) =>
      (await update(file)).held.map(({ model, reason }) => `${model}: ${reason}`);
    assert.deepEqual(await heldOf("day1.json"), []);
    assert.deepEqual(await heldOf("day2.json"), [
      "openai:gpt-4: openai:gpt-4 input 30 -> 200 since the release",
    ]);
  }));

Deno.test("updatePrices() takes the first price of a cache, which costs less than the input that stood for it", () =>
  inFolder(async ({ update, used }) => {
    assert.deepEqual((await update("cache.json")).held, []);
    const { genai } = await used();
    const models = genai.providers.find(({ id }) => id === "openai")!.models;
    const { prices } = models.find(({ id }) => id === "gpt-4")!;
    assert.deepEqual(prices, { input_mtok: 30, output_mtok: 60, cache_read_mtok: 3 });
  }));

Deno.test("updatePrices() refuses prices of another unit, as the release does", () =>
  inFolder(async ({ update, used }) => {
    const { skipped, added } = await update("litellm.json");
    assert.deepEqual(skipped, {
      "its price is over 1,000 USD per million tokens, and no second source has it": 1,
      "its price differs from that of other providers by over 100 times": 1,
    });
    assert.deepEqual(added, ["gpt-new"]);
    const { litellm } = await used();
    assert.ok(!("groq/gpt-4o" in litellm.models) && !("azure_ai/jais-30b-chat" in litellm.models));
  }));

Deno.test("updatePrices() recognizes LiteLLM's map by its shape", () =>
  inFolder(async ({ update, used }) => {
    const result = await update("litellm.json");
    assert.equal(result.source, "litellm");
    assert.deepEqual(result.added, ["gpt-new"]);
    assert.ok(result.held.length > 3_000, "the others are gone from the file");
    const { litellm } = await used();
    assert.ok("gpt-new" in litellm.models && "gpt-4o" in litellm.models);
  }));

const REFUSED: [from: string, code: string, message: RegExp][] = [
  ["missing.json", "unavailable", /^Cannot download http.*missing\.json: the server answered 404$/],
  [
    "moved",
    "unavailable",
    /it redirects to https:\/\/prices\.example\.com\/data\.json, which is not followed/,
  ],
  ["huge", "too_large", /^Cannot take the prices of http.*huge: they have over 16 MB$/],
  ["page.html", "invalid", /^Cannot read the prices: .*JSON/],
  ["half.json", "invalid", /^Cannot read the prices: .*JSON/],
  ["other.json", "invalid", /^Cannot read the prices: /],
  ["http://prices.example.com/data.json", "invalid", /http:\/\/ is not allowed; give an https:\/\/ URL/],
  [
    "https://me:secret@example.com/data.json",
    "invalid",
    /^Cannot download prices: the URL contains a password$/,
  ],
  ["ftp://example.com/data.json", "invalid", /ftp:\/\/ is not allowed/],
  ["https://", "invalid", /the address is no URL/],
  [
    "/nowhere/data.json",
    "invalid",
    /^Cannot read the prices of \/nowhere\/data\.json: no such file or directory$/,
  ],
  ["/", "invalid", /^Cannot read the prices of \/: is a directory$/],
];

for (const [from, code, message] of REFUSED) {
  Deno.test(`updatePrices() refuses ${from} and leaves the prices as they are`, () =>
    inFolder(async ({ update, folder }) => {
      await assert.rejects(update(from), { code, message });
      assert.equal(await exists(folder), false);
    }));
}

Deno.test("updatePrices() gives up a server that doesn't answer", () =>
  inFolder(async ({ update, server, clock }) => {
    const updating = assert.rejects(update("hanging"), {
      code: "unavailable",
      message: /took longer than 30 s$/,
    });
    await server.hanging;
    clock.advance(DOWNLOAD_TIMEOUT_MS);
    await updating;
  }));

Deno.test("updatePrices() refuses older prices than those in use, and some of the future", () =>
  inFolder(async ({ update, folder, clock }) => {
    await Deno.mkdir(folder);
    const dated = async (date: string) => {
      const path = `${folder}/data.json`;
      await Deno.writeTextFile(
        path,
        `{"source":"genai-prices","date":"${date}","providers":${FILES["good.json"]}}`,
      );
      return path;
    };
    await assert.rejects(update(await dated("2026-01-01")), {
      code: "invalid",
      message: /those in use are newer/,
    });
    await assert.rejects(update(await dated("2027-01-03")), {
      code: "invalid",
      message: /is in the future$/,
    });
    assert.equal((await update(await dated("2027-01-01"))).date, "2027-01-01");
    clock.advance(-40 * 86_400_000);
    await assert.rejects(update("good.json"), { code: "invalid" });
  }));

/** Returns a copy that another version has written with a change. */
function resealed(text: string, before: string, after: string): Promise<string> {
  const rest = text.replace(/^.*?,/, "").replace(before, after);
  return sha256Hex(rest).then((hash) => `{"checked":"0.0.0 ${hash}",${rest}`);
}

const DAMAGED: [name: string, damage: (text: string) => string | Promise<string>][] = [
  ["empty", () => ""],
  ["half written", (text) => text.slice(0, text.length / 2)],
  ["no JSON", () => "<html>"],
  ["without its checksum", (text) => text.replace(/"checked":"[^"]*",/, "")],
  ["with a rate that was changed", (text) => text.replace('"input_mtok":7', '"input_mtok":8')],
  [
    "of another version, with a rate that is none",
    (text) => resealed(text, '"input_mtok":7', '"input_mtok":"7"'),
  ],
  ["of another version, without a date", (text) => resealed(text, '"date":"2027-01-02",', "")],
];

let written: Promise<string> | undefined;

/** Returns a copy as an update writes it. */
async function writtenCopy(): Promise<string> {
  let copy = "";
  await inFolder(async ({ update, folder }) => {
    await update("good.json");
    copy = await read(`${folder}/genai_prices.json`);
  });
  return copy;
}

for (const [index, [name, damage]] of DAMAGED.entries()) {
  Deno.test(`a copy that is ${name} is not used, and the release's prices are`, () =>
    inFolder(async ({ update, used, folder, warnings }) => {
      await Deno.mkdir(folder);
      await Deno.writeTextFile(
        `${folder}/genai_prices.json`,
        await damage(await (written ??= writtenCopy())),
      );
      const { genai, updated } = await used();
      assert.deepEqual([...updated], []);
      assert.notEqual(genai.date, "2027-01-02");
      assert.match(
        warnings.at(-1)!,
        /^Updated prices cannot be used, those of this release are; run purser prices update$/,
      );
      if (index > 0) return; // the next update doesn't read how a copy is damaged
      await update("good.json");
      assert.deepEqual([...(await used()).updated], ["genai-prices"]);
    }));
}

Deno.test("a copy of another version is checked again, and one that is older than the release's prices is not used", () =>
  inFolder(async ({ update, used, folder, warnings }) => {
    await update("good.json");
    const path = `${folder}/genai_prices.json`;
    const copy = await read(path);
    const { genai } = await used();
    await Deno.writeTextFile(path, await resealed(copy, "", ""));
    assert.deepEqual((await used()).genai, genai);
    await Deno.writeTextFile(path, await resealed(copy, '"date":"2027-01-02"', '"date":"2026-01-02"'));
    assert.deepEqual([...(await used()).updated], []);
    assert.deepEqual(warnings, []);
    await assert.rejects(update(path), { message: /those in use are newer/ });
  }));

Deno.test({
  name: "updatePrices() stops reading a device that has no end",
  ignore: Deno.build.os === "windows",
  fn: () =>
    inFolder(async ({ update }) => {
      const message = "Cannot take the prices of /dev/zero: they have over 16 MB";
      await assert.rejects(update("/dev/zero"), { code: "too_large", message });
    }),
});

Deno.test("updatePrices() says why its folder can't be made", () =>
  inFolder(async ({ update, folder }) => {
    await Deno.writeTextFile(folder, "a file");
    const message = /^Cannot write .*genai_prices\.json: /;
    await assert.rejects(update("good.json"), { code: "unavailable", message });
  }));
