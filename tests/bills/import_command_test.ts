import assert from "node:assert/strict";
import { newPlace, type Place, start } from "../harness/cli_process.ts";
import { inProcess as purser } from "../harness/in_process.ts";
import { blocks, readDocument, runLines } from "../harness/documents.ts";
import { inDirectory } from "../harness/in_directory.ts";
import { FAKE_BILLS, fakeApi, KEY } from "./fakes.ts";

/** `purser bills` over files and over a server that answers as an API does. */

async function run(place: Place, ...args: string[]) {
  const { code, out, err } = await purser(place, ["bills", ...args]);
  return { code, out, err };
}

async function json(place: Place, ...args: string[]) {
  const { code, out, err } = await run(place, ...args, "--json");
  assert.equal(code, 0, err);
  return JSON.parse(out);
}

async function write(place: Place, name: string, content: string | Uint8Array) {
  const path = `${place.folder}/${name}`;
  await Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
  return path;
}

const gzip = async (text: string) =>
  new Uint8Array(
    await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
  );

/** The columns of each cloud's FOCUS file, with what is particular to it. $1.25 + $0.000000000000000000000000000000000000001 - $0.25. */
const FOCUS = {
  aws:
    `BillingAccountId,BilledCost,ListCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,ServiceName,ServiceCategory,SkuId,ProviderName,x_UsageType,ConsumedQuantity,ConsumedUnit,SubAccountId,Tags
123,1.25,1.5,USD,Usage,2026-11-25T10:00:00Z,2026-11-25T11:00:00Z,Amazon Bedrock,AI and Machine Learning,SKU1,AWS,USE1-Claude4.6Sonnet-input-tokens,0.5,Units,999,"{""team"":""a,b""}"
123,0.000000000000000000000000000000000000001,,USD,Usage,2026-11-25T10:00:00Z,2026-11-25T11:00:00Z,"Claude Sonnet 5 (Amazon Bedrock Edition)",Other,SKU2,AWS,USE1-MP:USE1_OutputTokenCount-Units,1,Units,999,
123,-0.25,,USD,Credit,2026-11-25T00:00:00Z,2026-11-26T00:00:00Z,Amazon Bedrock,AI and Machine Learning,,AWS,,,,999,
123,77,,USD,Usage,2026-11-25T10:00:00Z,2026-11-25T11:00:00Z,Amazon EC2,Compute,SKU3,AWS,BoxUsage,1,Hrs,999,
`,
  azure:
    `\uFEFFBillingAccountId,BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,ServiceName,ServiceCategory,SkuPriceId,x_SkuMeterName\r
/subscriptions/s,2.5,EUR,Usage,2026-11-25T00:00Z,2026-11-26T00:00Z,Azure OpenAI,AI and Machine Learning,P1,gpt 4.1 cached Inp glbl Tokens\r
`,
  google:
    `BillingAccountId,BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,ServiceName,ServiceCategory,SkuId,x_SkuDescription
01-AB,0.75,USD,Usage,2026-11-25 10:00:00 UTC,2026-11-25 11:00:00 UTC,Vertex AI,AI and Machine Learning,S,"Gemini 3.8 Flash Global Text Input - Predictions"
01-AB,0.1,USD,Rounding,2026-11-25 10:00:00 UTC,2026-11-25 11:00:00 UTC,Vertex AI,AI and Machine Learning,S,x
`,
};

Deno.test("a FOCUS file of a cloud is imported once; each further one by its own lines", async () => {
  await using place = await newPlace();
  const path = await write(place, "aws.csv.gz", await gzip(FOCUS.aws));
  const { out, err } = await run(place, "import", "focus", "--file", path);
  assert.match(
    out,
    /^Imported 3 lines of focus: 3 new, 0 replaced\nBilled: 1\.000000000000000000000000000000000000001 USD\n$/,
  );
  assert.match(err, /Not understood: rows of other services \(1\)/);
  const again = await run(place, "import", "focus", "--file", path);
  assert.match(again.out, /^The file was imported before, by bim_\w+ at 2[-\dT:]+Z: nothing was changed\n$/);
  const google = await json(
    place,
    "import",
    "focus",
    "--file",
    await write(place, "google.csv", FOCUS.google),
  );
  assert.deepEqual([google.account, google.lines, google.unknown], ["01-AB", 2, {
    "ChargeCategory Rounding": 1,
  }]);
  assert.deepEqual([google.from, google.to], ["2026-11-25T10:00:00.000Z", "2026-11-25T11:00:00.000Z"]);
  await json(place, "import", "focus", "--file", await write(place, "azure.csv", FOCUS.azure));
  const { lines, count, sums } = await json(place, "lines", "--month", "2026-11");
  assert.equal(count, 6);
  assert.deepEqual(sums, { USD: "1.850000000000000000000000000000000000001", EUR: "2.5" });
  const [first, , credit] = lines;
  assert.deepEqual([first.sku, first.project, first.quantity, first.unit, first.list_amount], [
    "SKU1",
    "999",
    "0.5",
    "Units",
    "1.5",
  ]);
  assert.deepEqual(first.other, {
    meter: "USE1-Claude4.6Sonnet-input-tokens",
    provider: "AWS",
    service: "Amazon Bedrock",
    tags: '{"team":"a,b"}',
  });
  assert.deepEqual([credit.category, credit.amount], ["credit", "-0.25"]);
  const listed = await run(place, "lines", "--source", "focus", "--limit", "2");
  assert.match(listed.out, /Billed: 1\.85\d* USD\nBilled: 2\.5 EUR, which is in no other sum\n/);
  assert.match(listed.err, /6 lines in all/);
  assert.match((await run(place, "list")).out, /focus .* done/);
});

Deno.test("a file that another one has replaced since is imported again, and so is one whose columns are read otherwise", async () => {
  await using place = await newPlace();
  const fileOf = (name: string, rows: string) => write(place, name, `Day,Model,Cost,Other\n${rows}`);
  const columns = "starts_at=Day,model=Model,amount=Cost";
  const first = await fileOf("a.csv", "2026-11-02,m,1,9\n2026-11-03,m,2,9\n");
  const second = await fileOf("b.csv", "2026-11-02,m,5,9\n2026-11-03,m,2,9\n2026-11-04,m,7,9\n");
  const month = ["--month", "2026-11"];
  const load = async (path: string, of = columns) =>
    (await run(place, "import", "csv", "--file", path, "--columns", of, ...month)).out.split("\n")[0]!;
  const sums = async () => (await json(place, "lines", ...month)).sums;
  assert.equal(await load(first), "Imported 2 lines of csv: 2 new, 0 replaced");
  assert.equal(await load(second), "Imported 3 lines of csv: 1 new, 1 replaced");
  assert.equal(await load(first), "Imported 2 lines of csv: 0 new, 2 replaced");
  assert.deepEqual(await sums(), { USD: "3" });
  assert.match(await load(first), /^The file was imported before, .*: nothing was changed$/);
  assert.match(await load(first, columns.replace("Cost", "Other")), /: 0 new, 2 replaced$/);
  assert.deepEqual(await sums(), { USD: "18" });
});

Deno.test("a later file of a whole month replaces the lines that it has no more", async () => {
  await using place = await newPlace();
  await json(
    place,
    "import",
    "focus",
    "--file",
    await write(place, "a.csv", FOCUS.aws),
    "--month",
    "2026-11",
  );
  const fewer = FOCUS.aws.split("\n").filter((line) => !line.includes("SKU2")).join("\n").replace(
    "1.25,1.5",
    "1.3,1.5",
  );
  const part = await write(place, "b.csv", fewer);
  const done = await json(place, "import", "focus", "--file", part, "--month", "2026-11");
  assert.deepEqual([done.new_lines, done.revised_lines], [0, 2]);
  assert.deepEqual((await json(place, "lines")).sums, { USD: "1.05" });
  const other = await run(
    place,
    "import",
    "focus",
    "--file",
    await write(place, "c.csv", `${fewer}\n`),
    "--month",
    "2026-10",
  );
  assert.equal(other.code, 1, other.err);
  assert.match(other.err, /it has a line of 2026-11-25T10:00:00\.000Z, outside of \[2026-10-01/);
  assert.deepEqual((await json(place, "lines")).sums, { USD: "1.05" });
});

Deno.test("a file that can't be read as a bill books nothing, and says why", async () => {
  await using place = await newPlace();
  const head = FOCUS.aws.split("\n")[0]!;
  const cut = (await gzip(FOCUS.aws)).slice(0, -12);
  const files: [name: string, content: string | Uint8Array, args: string[], message: RegExp][] = [
    ["half.csv", FOCUS.aws.slice(0, 700), [], /line \d has \d+ cells, and the first has 16; is it whole\?/],
    ["quote.csv", `${head}\n"123`, [], /it ends in a quoted cell; is it whole\?/],
    ["half.csv.gz", cut, [], /its gzip is cut off or broken; is it whole\?/],
    ["half.parquet", `PAR1${FOCUS.aws}`, [], /its Parquet can't be read \(.* PAR1\)\); is it whole\?/],
    ["latin.csv", new Uint8Array([0x61, 0xff, 0x62]), [], /it is not UTF-8/],
    ["empty.csv", "", [], /it is empty/],
    ["other.csv", "a,b\n1,2\n", [], /it has no column BilledCost, BillingCurrency, .*, as a FOCUS file has/],
    [
      "two.csv",
      FOCUS.aws.replace("\n123,-0.25", "\n456,-0.25"),
      [],
      /lines of the accounts 123 and 456; split it/,
    ],
    ["theirs.csv", FOCUS.aws, ["--account", "999"], /it is of the account 123, not 999/],
    [
      "number.csv",
      FOCUS.aws.replace("123,1.25", '123,"1,25"'),
      [],
      /the amount of row 1: 1,25 is not a number/,
    ],
    ["time.csv", FOCUS.aws.replace("2026-11-25T10", "25.11.2026 10"), [], /ChargePeriodStart is no time/],
  ];
  for (const [name, content, args, message] of files) {
    const { code, err } = await run(
      place,
      "import",
      "focus",
      "--file",
      await write(place, name, content),
      ...args,
    );
    assert.ok(code !== 0, name);
    assert.match(err, message, name);
    assert.equal((await json(place, "lines")).count, 0, name);
  }
  const { code, err } = await run(place, "import", "focus", "--file", `${place.folder}/none.csv`);
  assert.equal(code, 1, err);
  assert.match(err, /Cannot read the bill .*none\.csv: no such file/);
});

Deno.test("a table is read by the names of its columns, and never takes cents for dollars", async () => {
  await using place = await newPlace();
  const table =
    "Day,Model,Cost,Cents,Note\n2026-11-25,mistral-large,1.5,150,x\n2026-11-26,mistral-small,-0.5,-50,\n";
  const path = await write(place, "mistral.csv", table);
  const columns = (
    text: string,
  ) => ["import", "csv", "--file", path, "--account", "mistral", "--columns", text];
  const faults: [string, RegExp][] = [
    [
      "starts_at=Day,amount=Cents",
      /its column Cents seems to be of cents, and amount is of dollars; name it amount_cents/,
    ],
    ["model=Model", /the column of starts_at is not named/],
    ["starts_at=Day,amount=Price", /it has no column Price; it has Day, Model/],
    ["start=Day", /there is no field start; known are starts_at/],
  ];
  for (const [text, message] of faults) assert.match((await run(place, ...columns(text))).err, message);
  const done = await json(place, ...columns("starts_at=Day,model=Model,amount_cents=Cents"));
  assert.deepEqual([done.lines, done.account, done.unknown], [2, "mistral", {
    "column Cost": 2,
    "column Note": 1,
  }]);
  const { sums, lines } = await json(place, "lines");
  assert.deepEqual([sums, lines[0].ends_at], [{ USD: "1" }, "2026-11-26T00:00:00.000Z"]);
  const without = await run(
    place,
    "import",
    "csv",
    "--file",
    await write(place, "again.csv", `${table}\n`),
    "--columns",
    "starts_at=Day,amount=Cost",
  );
  assert.match(
    without.err,
    /lines of csv with the account mistral are there for this time, which would count its usage twice/,
  );
  const more = table +
    Array.from({ length: 1_200 }, (_, index) => `2026-11-27,m${index},0.001,0.1,`).join("\n");
  const long = await json(
    place,
    "import",
    "csv",
    "--file",
    await write(place, "long.csv", more),
    "--account",
    "mistral",
    "--columns",
    "starts_at=Day,model=Model,amount=Cost",
  );
  assert.deepEqual([long.lines, long.new_lines], [1_202, 1_200]);
  assert.deepEqual((await json(place, "lines", "--limit", "0")).sums, { USD: "2.2" });
});

Deno.test("a bill is imported from an API, by the key and the address of the config, and its key is shown nowhere", async () => {
  await using place = await newPlace();
  const bill = FAKE_BILLS.find(({ source }) => source === "anthropic")!;
  const api = fakeApi(bill);
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => api.fetch(request.url, { headers: request.headers }),
  );
  const entry = {
    source: "anthropic",
    base_url: `http://127.0.0.1:${server.addr.port}/`,
    key_env: "BILL_KEY",
  };
  Object.assign(place.env, { BILL_KEY: KEY, PURSER_CONFIG_JSON: JSON.stringify({ bill_imports: [entry] }) });
  const args = ["import", "anthropic", "--since", "2026-11-24", "--until", "2026-11-26"];
  const { out, err, code } = await run(place, ...args);
  assert.equal(code, 0, err);
  assert.match(out, /^Imported 9 lines of anthropic, as of 2026-11-26T01:00Z: 9 new, 0 replaced\n/);
  assert.deepEqual((await json(place, "lines")).sums, { USD: "1.0288384" });
  place.env.BILL_KEY = `${KEY}x`;
  const refused = await run(place, ...args);
  assert.equal(refused.code, 1, refused.err);
  assert.match(refused.err, /answers with status 401: the key is not accepted; check it/);
  assert.ok(![out, err, refused.err, refused.out].join().includes(KEY));
  delete place.env.BILL_KEY;
  assert.match((await run(place, ...args)).err, /BILL_KEY is not set; it needs an Admin key/);
  for await (const { name, isFile } of Deno.readDir(place.folder)) {
    if (!isFile || !name.includes(".db")) continue;
    const bytes = await Deno.readFile(`${place.folder}/${name}`);
    assert.ok(!new TextDecoder("latin1").decode(bytes).includes(KEY), name);
  }
});

Deno.test("a process that is killed in the middle of an import leaves nothing to see, and the next one goes on", async () => {
  await using place = await newPlace();
  const api = fakeApi(FAKE_BILLS.find(({ source }) => source === "anthropic")!);
  const [hanging, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let hangs = true;
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    if (hangs && new URL(request.url).searchParams.has("page")) {
      hanging.resolve();
      await released.promise;
    }
    return await api.fetch(request.url, { headers: request.headers });
  });
  const entry = { source: "anthropic", base_url: `http://127.0.0.1:${server.addr.port}` };
  Object.assign(place.env, {
    ANTHROPIC_ADMIN_KEY: KEY,
    PURSER_CONFIG_JSON: JSON.stringify({ bill_imports: [entry] }),
  });
  const args = ["import", "anthropic", "--since", "2026-11-24", "--until", "2026-11-26"];
  const child = start(place, ["bills", ...args]);
  await hanging.promise;
  child.kill("SIGKILL");
  await child.output();
  released.resolve();
  assert.equal((await json(place, "lines")).count, 0);
  const [cut] = await json(place, "list");
  assert.deepEqual([cut.status, cut.lines], ["in_progress", 8]);
  hangs = false;
  const asked = api.asked.length;
  assert.equal((await json(place, ...args)).import_id, cut.import_id);
  assert.deepEqual((await json(place, "lines")).sums, { USD: "1.0288384" });
  assert.equal(api.asked.length, asked + 1);
});

Deno.test("what a bill can't be imported with is refused before anything is asked", async () => {
  await using place = await newPlace();
  const faults: [string[], RegExp][] = [
    [["import", "antropic"], /there is no source antropic; did you mean anthropic\?/],
    [["import", "focus"], /it is read from a file; give it by --file/],
    [["import", "copilot", "--month", "2026-11"], /its account is not named; give it by --account/],
    [["import", "openrouter", "--month", "2026-01"], /it has the last 31 days only; begin at/],
    [["import", "openai", "--month", "2099-01"], /2099-01 is in the future/],
    [["import", "openai", "--month", "2026-13"], /2026-13 is not a month/],
    [["import", "openai", "--month", "2026-11", "--since", "7d"], /--month together with --since/],
    [["import", "openai", "--file", "x"], /openai is read from its API/],
  ];
  for (const [args, message] of faults) {
    const { code, err } = await run(place, ...args);
    assert.ok(code === 2 || code === 1, err);
    assert.match(err, message);
  }
  const sources = await json(place, "sources");
  assert.ok(sources.every(({ seen, holes }: { seen: string; holes: string[] }) => seen && holes.length > 0));
  assert.match((await run(place, "sources")).out, /anthropic .*ANTHROPIC_ADMIN_KEY/);
});

Deno.test("the commands of docs/bills.md work as they are written, and its table has every source", () =>
  inDirectory(async (directory) => {
    const document = await readDocument("docs/bills.md");
    const lines = blocks(document, "sh").join("").trim().split("\n");
    await Deno.writeTextFile(`${directory}/bill.csv`, blocks(document, "csv").join(""));
    const output = await runLines(
      lines.map((line) => line.replace("bill.csv", `${directory}/bill.csv`)),
      directory,
    );
    assert.match(output, /Imported 2 lines of csv: 2 new, 0 replaced[^]*Billed: 1\.25 USD/);
    await using place = await newPlace();
    const sources: { name: string; key: string | null; scope: string; holes: string[] }[] = await json(
      place,
      "sources",
    );
    for (const { name, key, scope, holes } of sources) {
      const access = key === null ? "a file" : `\`${key}\`: ${scope}`;
      const row = new RegExp(`^\\| \\\`${name}\\\` +\\| (.*?) +\\| (.*?) +\\|$`, "m").exec(document);
      assert.deepEqual(row?.slice(1), [access, holes.join("; ")], name);
    }
  }));

Deno.test("the source of docs/bills.md is loaded from plugins, and reads a file", async () => {
  await using place = await newPlace();
  const [code] = blocks(await readDocument("docs/bills.md"), "ts");
  const plugin = await write(place, "acme.ts", code!);
  const broken = await write(
    place,
    "broken.ts",
    "export default ({ defineBillSource }) => ({ ...defineBillSource({}), contract: 9 });",
  );
  place.env.PURSER_CONFIG_JSON = JSON.stringify({ plugins: [plugin] });
  const file = await write(place, "acme.csv", "day,model,usd\n2026-11-25,m,0.5\n");
  assert.match((await run(place, "import", "acme", "--file", file)).out, /^Imported 1 line of acme: 1 new/);
  assert.ok((await json(place, "sources")).some(({ name }: { name: string }) => name === "acme"));
  place.env.PURSER_CONFIG_JSON = JSON.stringify({ plugins: [broken] });
  const { err } = await run(place, "import", "acme", "--file", file);
  assert.match(
    err,
    /Cannot load the plugin .*broken\.ts: it was written for version 9 of the contract of bills/,
  );
});
