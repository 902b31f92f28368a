import assert from "node:assert/strict";
import { memoryTerminal } from "./harness/memory_terminal.ts";
import { main } from "../src/cli/mod.ts";
import { fixedClock } from "../src/kernel/clock.ts";
import { DOWNLOAD_TIMEOUT_MS } from "../src/pricing/updates/mod.ts";
import { newPlace, startServer } from "./harness/cli_process.ts";
import { inProcess } from "./harness/in_process.ts";
import { publish, publishedPrices } from "./harness/price_files.ts";

/** `purser prices update` against a real server of files. */

const FILES = {
  "good.json": await publishedPrices([
    { provider: "openai", model: "gpt-new", prices: { input_mtok: 7, output_mtok: 20 } },
    { provider: "openai", model: "gpt-5-mini", prices: { input_mtok: 0.5, output_mtok: 2 } },
    { provider: "openai", model: "gpt-4", prices: { input_mtok: 300, output_mtok: 60 } },
    { provider: "openai", model: "davinci" },
  ]),
  "page.html": "<!doctype html><h1>Sign in</h1>",
};

const namesIn = async (folder: string) =>
  (await Array.fromAsync(Deno.readDir(folder)).catch(() => [])).map(({ name }) => name).sort();

Deno.test("purser prices update shows the difference, takes it, and every later command uses it", async () => {
  await using place = await newPlace();
  await Deno.writeTextFile(place.env.PURSER_DB!, ""); // as an empty database
  await using server = publish(FILES);
  const folder = `${place.folder}/purser/prices`;
  const from = `${server.url}/good.json`;
  const dry = await inProcess(place, ["prices", "update", from, "--dry-run"]);
  assert.deepEqual([dry.code, await namesIn(folder)], [0, []], dry.err);
  assert.match(
    dry.out,
    /^genai-prices [-\d]{10} -> [-\d]{10}, [\d,]+ models: 1 added, 1 changed, 0 removed, 2 held back$/m,
  );
  assert.match(dry.out, /^added +openai:gpt-new$/m);
  assert.match(dry.out, /^changed +openai:gpt-5-mini +input_mtok +0\.25 +0\.5$/m);
  assert.match(dry.out, /^held back +openai:davinci +removed: it is gone$/m);
  assert.match(dry.out, /^held back +openai:gpt-4 +changed: openai:gpt-4 input 30 -> 300$/m);
  assert.match(dry.err, /2 held back: .* --accept openai:davinci or --accept-all\nNothing was written\n$/);

  const update = await inProcess(place, ["prices", "update", from, "--json"]);
  assert.equal(update.code, 0, update.err);
  const [result] = JSON.parse(update.out);
  assert.deepEqual([result.path, result.dry_run, result.added], [`${folder}/genai_prices.json`, false, [
    "openai:gpt-new",
  ]]);
  assert.deepEqual(await namesIn(folder), ["genai_prices.json"]);
  const shown = await inProcess(place, ["prices", "show", "openai:gpt-new"]);
  assert.match(shown.out, /^input tokens +7 .*million$/m);
  assert.match((await inProcess(place, ["prices", "show", "openai:gpt-4"])).out, /^input tokens +30 /m);

  await using running = await startServer(place);
  const { price } = await (await fetch(`${running.url}/prices?model=openai:gpt-new`)).json();
  assert.equal(price.tiers[0].rates[0].usd, 7);

  const accepted = await inProcess(place, ["prices", "update", from, "--accept", "openai:gpt-4"]);
  assert.match(accepted.out, /1 changed, 0 removed, 1 held back$/m);
  assert.deepEqual(await namesIn(folder), ["genai_prices.json", "genai_prices.json.bak"]);
  assert.match((await inProcess(place, ["prices", "show", "openai:gpt-4"])).out, /^input tokens +300 /m);
  const wrong = await inProcess(place, ["prices", "update", from, "--accept", "gpt-4"]);
  assert.deepEqual([wrong.code, /^error: Cannot accept gpt-4: /m.test(wrong.err)], [1, true], wrong.err);

  await Deno.writeTextFile(`${folder}/genai_prices.json`, FILES["good.json"].slice(0, 1_000));
  const broken = await inProcess(place, ["prices", "show", "openai:gpt-4"]);
  assert.match(broken.out, /^input tokens +30 /m);
  assert.match(broken.err, /Updated prices cannot be used, those of this release are/);
});

Deno.test("purser prices show marks the rates of another source and those of a rule, and the end of a model", async () => {
  await using place = await newPlace();
  await Deno.writeTextFile(place.env.PURSER_DB!, "");
  const show = async (...args: string[]) => (await inProcess(place, ["prices", "show", ...args])).out;
  const gemini = await show("google:gemini-3.8-flash");
  assert.match(gemini, /^input tokens +0\.75 +0\.375\* +1\.35\* +0\.375 /m);
  assert.match(gemini, /^reasoning tokens +3\.75~ +1\.875~ +6\.75~ +1\.875~ /m);
  assert.match(gemini, /^\* litellm@[-\d]{10}\n~ listed by none: it follows from the other rates$/m);
  assert.doesNotMatch(gemini, /^End/m);
  const fallback = await show("azure_ai:deepseek-v3.2");
  assert.match(fallback, /^Source +litellm@[-\d]{10}$/m);
  assert.doesNotMatch(fallback, /^\*/m);
  assert.match(await show("openai:gpt-4"), /^(Ended|Ends) +2026-10-23$/m);
});

const FAILING: [path: string, message: RegExp][] = [
  ["missing.json", /^error: Cannot download http.*: the server answered 404\n$/],
  ["page.html", /^error: Cannot read the prices: /],
  ["huge", /^error: Cannot take the prices of http.*huge: they have over 16 MB\n$/],
  ["moved", /^error: .* it redirects to /],
];

Deno.test("purser prices update reports files that can't be taken, and changes nothing", async () => {
  await using place = await newPlace();
  await using server = publish(FILES);
  for (const [path, message] of FAILING) {
    const { code, out, err } = await inProcess(place, ["prices", "update", `${server.url}/${path}`]);
    assert.deepEqual([code, out], [1, ""], path);
    assert.match(err, message);
  }
  assert.deepEqual(await namesIn(`${place.folder}/purser/prices`), []);
});

/** Runs a command line in this process, with a clock that stands still. */
function runInProcess(args: string[], env: Record<string, string>) {
  const terminal = memoryTerminal();
  const clock = fixedClock("2027-01-02T03:04:05.000Z");
  return { terminal, clock, ended: main(args, { terminal, env, clock }) };
}

Deno.test("purser prices update gives up a server that doesn't answer", async () => {
  await using place = await newPlace();
  await using server = publish(FILES);
  const { terminal, clock, ended } = runInProcess(["prices", "update", `${server.url}/hanging`], place.env);
  await server.hanging;
  clock.advance(DOWNLOAD_TIMEOUT_MS);
  assert.equal(await ended, 1);
  assert.match(terminal.err, /^error: Cannot download .*hanging: it took longer than 30 s\n$/);
});

Deno.test("purser prices update refuses a server's prices, and says where to update them", async () => {
  await using place = await newPlace();
  const PURSER_SERVER = "http://127.0.0.1:1";
  for (const [args, env] of [[["--server", PURSER_SERVER], {}], [[], { PURSER_SERVER }]] as const) {
    const { terminal, ended } = runInProcess(["prices", "update", ...args], { ...place.env, ...env });
    assert.equal(await ended, 2);
    assert.match(
      terminal.err,
      /^error: Cannot update the prices of a server from here: run purser prices update on its machine/,
    );
  }
});

Deno.test("purser prices update needs a data directory", async () => {
  const { terminal, ended } = runInProcess(["prices", "update"], { PURSER_DB: ":memory:" });
  assert.equal(await ended, 1);
  assert.match(
    terminal.err,
    /^error: Cannot update the prices: the home directory is not known; set HOME or XDG_DATA_HOME\n/,
  );
});
