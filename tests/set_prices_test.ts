import assert from "node:assert/strict";
import { join } from "node:path";
import { fixedClock } from "../src/kernel/clock.ts";
import { setPrice } from "../src/price_rows/mod.ts";
import { readPrices } from "../src/price_rows/read/mod.ts";
import { createLazyPriceBook } from "../src/pricing/mod.ts";
import { createQuery } from "../src/store/mod.ts";
import { dialectKinds } from "./harness/databases.ts";
import { FIXTURE_AT } from "./fixtures/providers/mod.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { WORLDS } from "./resources/resources.ts";

/** `purser prices set`: prices that people set, in the database. */

type World = Awaited<ReturnType<typeof WORLDS[string]>>;

let calls = 0;

/** Reports a call with a million input tokens, and returns its cost and the source of its price. */
async function costOf({ api }: Pick<World, "api">, model: string, provider = "openai") {
  const event = {
    at: new Date(FIXTURE_AT).toISOString(),
    call_id: `priced_${++calls}`,
    agent_id: "a",
    provider,
    model,
    input_tokens: 1_000_000,
    output_tokens: 0,
  };
  const { status, body } = await api("POST", "/costs/events", [event]);
  assert.equal(status, 201, JSON.stringify(body));
  const { booked: { cost_usd, price_source } } = (await api("GET", `/costs/calls/${event.call_id}`)).body;
  return [cost_usd, price_source];
}

for (const [where, openWorld] of Object.entries(WORLDS)) {
  const test = (sentence: string, body: (world: World) => Promise<void>) =>
    Deno.test(`${sentence}, ${where}`, async () => {
      await using world = await openWorld();
      await body(world);
    });

  test("calls are billed by a price from when it is set until it is removed", async (world) => {
    const [listed, source] = await costOf(world, "gpt-4o-mini");
    assert.ok(listed > 0 && /^(?:genai-prices|litellm)@/.test(source));
    const { out } = await world.run(
      "prices set openai:gpt-4o-mini --input 77 --output 0.6 --rate web_searches=10",
    );
    assert.equal(out, "Price of openai:gpt-4o-mini: input 77, output 0.6, web_searches 10\n");
    assert.deepEqual(await costOf(world, "gpt-4o-mini"), [77, "database"]);
    await world.run("prices set openai:gpt-4o-mini --input 78 --output 0.6");
    assert.deepEqual(await costOf(world, "gpt-4o-mini"), [78, "database"]);
    assert.match(
      (await world.run("prices list")).out,
      /^openai:gpt-4o-mini +any +any time +input 78, output 0\.6 /m,
    );
    assert.match((await world.run("prices show openai:gpt-4o-mini")).out, /^Source +database$/m);
    await world.run("prices unset openai:gpt-4o-mini");
    assert.deepEqual(await costOf(world, "gpt-4o-mini"), [listed, source]);
    const log = JSON.parse((await world.run("audit --kind price --json")).out);
    assert.deepEqual(
      log.map((
        { action, subject_name, actor, actor_name }: Record<string, string>,
      ) => [action, subject_name, actor, actor_name]),
      ["removed", "changed", "created"].map((
        action,
      ) => [action, "openai:gpt-4o-mini", ...world.author.slice(0, 2)]),
    );
    assert.deepEqual([log[1].before, log[1].after.input_usd_per_million], [
      { input_usd_per_million: 77, web_searches_usd_per_thousand: 10 },
      78,
    ]);
  });

  test("a price applies from its day on, and to its service tier", async (world) => {
    await world.run("prices set vllm:qwen3:8b --input 1 --output 1");
    await world.run("prices set vllm:qwen3:8b --input 2 --output 1 --from 2026-01-01");
    await world.run("prices set vllm:qwen3:8b --input 9 --output 1 --from 2999-01-01");
    assert.deepEqual(await costOf(world, "qwen3:8b", "vllm"), [2, "database"]);
    await world.run("prices unset vllm:qwen3:8b --from 2026-01-01");
    assert.deepEqual(await costOf(world, "qwen3:8b", "vllm"), [1, "database"]);
    const { err } = await world.run("prices unset vllm:qwen3:8b --from 2999-01-02", 3);
    assert.match(err, /did you mean vllm:qwen3:8b from 2999-01-01\?/);
  });

  test("a contract changes the listed rates of its provider's calls, and no price that was set", async (world) => {
    const [listed, source] = await costOf(world, "gpt-4o-mini");
    await world.run("prices set openai:gpt-6-luna --input 5 --output 6");
    const { out } = await world.run("prices discount openai --by 12.5% --from 2026-01-01");
    assert.equal(out, "contract openai:* from 2026-01-01: -12.5% of listed rates\n");
    assert.deepEqual(await costOf(world, "gpt-4o-mini"), [listed * 0.875, `${source}, contract -12.5%`]);
    assert.deepEqual(await costOf(world, "gpt-6-luna"), [5, "database"]);
    await world.run("prices premium openai:gpt-4o-* --by 10% --until 2999-01-01");
    assert.deepEqual(await costOf(world, "gpt-4o-mini"), [listed * 1.1, `${source}, contract +10%`]);
    const { out: shown } = await world.run("prices show openai:gpt-4o-mini");
    assert.match(shown, /contract \+10%[^]*input tokens +0\.165 /);
    const list = (await world.run("prices list")).out;
    assert.match(list, /^contract openai:\* +any +2026-01-01 +-12\.5% of listed rates /m);
    await world.run('prices unset "contract openai:gpt-4o-*"');
    const { out: removed } = await world.run('prices unset "contract openai:*" --from 2026-01-01');
    assert.equal(removed, "Removed contract openai:* from 2026-01-01\n");
    assert.deepEqual(await costOf(world, "gpt-4o-mini"), [listed, source]);
  });

  test("what is wrong with a price is said, and nothing is written", async (world) => {
    await world.run("prices set aws:nova --input 1 --output 2");
    for (
      const [line, code, message] of [
        ["set nova --input 1 --output 2", 2, /write the provider and the model, such as openai:gpt-6-luna/],
        ["set aws:nova --input 1", 2, /without --output/],
        ["set aws:nova --input -1 --output 2", 2, /-1 is not a number of USD/],
        [
          "set aws:nova --input 1.0000001 --output 2",
          1,
          /input_usd_per_million: must have at most six decimals/,
        ],
        ["set aws:nova --input 2000000 --output 2", 1, /must be at most 1000000 USD per million/],
        ["set aws:nova --input 1 --output 2 --rate web=3", 2, /no part "web"; did you mean web_searches\?/],
        ["set aws:nova --input 1 --output 2 --rate web_searches=x", 2, /x is not a number of USD/],
        ["set aws:nova --input 1 --output 2 --from 2026-02-30", 1, /--from: must be a date such as/],
        ["set bedrock:nova --input 3 --output 2", 1, /aws is the same provider, and has it as aws:nova/],
        ["unset aws:nov", 3, /did you mean aws:nova\?/],
        ["discount aws", 2, /Cannot set it without --by/],
        ["discount aws --by 12", 2, /12 is not a share, such as 12%/],
        ["discount aws --by 100%", 1, /change_percent: must be above -100/],
        ["premium aws --by 1001%", 1, /change_percent: must be at most 1000/],
        ["premium aws --by 0.00001%", 1, /change_percent: must have at most four decimals/],
        ["premium aws --by 1% --from 2026-02-01 --until 2026-02-01", 1, /--until: must be after from/],
      ] as const
    ) {
      const { err } = await world.run(`prices ${line}`, code);
      assert.match(err, message);
    }
    const prices = (await world.api("GET", "/prices/rows")).body;
    assert.deepEqual(
      prices.map(({ name, input_usd_per_million }: Record<string, unknown>) => [name, input_usd_per_million]),
      [["aws:nova", 1]],
    );
  });

  test("a file of definitions has prices, which it changes and removes", (world) =>
    inDirectory(async (directory) => {
      const path = join(directory, "prices.json");
      const apply = async (prices: object[], options = "--yes", code = 0) => {
        await Deno.writeTextFile(path, JSON.stringify({ prices }));
        return await world.run(`apply ${path} ${options}`, code);
      };
      const luna = {
        provider: "openai",
        model: "gpt-6-luna",
        input_usd_per_million: 1,
        output_usd_per_million: 2,
      };
      const dated = { ...luna, from: "2026-01-01", input_usd_per_million: 3 };
      assert.match(
        (await apply([luna, dated])).out,
        /^\+ price openai:gpt-6-luna from 2026-01-01 \(created\)$/m,
      );
      assert.deepEqual(await costOf(world, "gpt-6-luna"), [3, "database"]);
      assert.equal((await apply([luna, dated])).out, "Nothing to change: 2 definitions in effect\n");
      assert.match(
        (await apply([{ ...luna, input_usd_per_million: 4 }], "--yes --prune")).out,
        /Applied 2 changes/,
      );
      assert.deepEqual(await costOf(world, "gpt-6-luna"), [4, "database"]);
      assert.match(
        (await apply([luna, luna], "--yes", 1)).err,
        /prices\[1\]\.model: repeats the name of prices\[0\]/,
      );
    }));
}

Deno.test("a model with a price in the database has none of the config, and other models have", async () => {
  const row = (model: string, usd: number, more = {}) => ({
    ...{ provider: "openai", model, input_usd_per_million: usd, output_usd_per_million: usd, ...more },
  });
  const prices = [row("one", 1), row("one", 2, { from: "2026-01-01" }), row("two", 3)];
  await using purser = await openTestPurser({ config: { prices } });
  assert.deepEqual(await costOf(purser, "one"), [2, "config"]);
  await setPrice(purser.core, row("one", 5));
  assert.deepEqual([await costOf(purser, "one"), await costOf(purser, "two")], [[5, "database"], [
    3,
    "config",
  ]]);
});

for (const kind of dialectKinds()) {
  Deno.test({
    name: `${kind.name}: another process bills by a price that was set once it reads its prices again`,
    ignore: kind.ignore,
    async fn() {
      await using database = await kind.create();
      const store = await database.open();
      const query = createQuery(store);
      const books = [createLazyPriceBook({}), createLazyPriceBook({})] as const;
      for (const book of books) {
        book.readStored = () => readPrices({ store });
        await book.ready();
      }
      const rates = () => books.map((book) => book.rates({ provider: "a", model: "b", at: 0 })?.source);
      assert.deepEqual(rates(), [undefined, undefined]);
      const ctx = {
        store,
        query,
        clock: fixedClock(0),
        author: { actor: "code" } as const,
        prices: books[0],
      };
      const price = { provider: "a", model: "b", input_usd_per_million: 0.000001, output_usd_per_million: 1 };
      await setPrice(ctx, price);
      assert.deepEqual(rates(), ["database", undefined]);
      assert.equal(await books[1].refresh(), true);
      assert.deepEqual([rates(), await books[1].refresh()], [["database", "database"], false]);
      assert.deepEqual(await readPrices({ store }), [price]);
    },
  });
}
