import assert from "node:assert/strict";
import { importDueBills, loadAllSources, loadSource } from "../../src/bills/import/mod.ts";
import { addDecimals } from "../../src/bills/lines/decimal.ts";
import { BILL_SOURCES } from "../../src/bills/sources/registry.ts";
import type { BillSource } from "../../src/bills/sources/bill_source.ts";
import type { BillSourceModule } from "../../src/bills/sources/mod.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { DAY_MS, fixedClock } from "../../src/kernel/clock.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { FAKE_BILLS, fakeApi, type FakeBill, KEY, type Mishaps } from "./fakes.ts";
import { isInTurn } from "../harness/thorough.ts";

/** The conformance of each source of the registry with an API: what it reads, and what it does where the API doesn't answer. */

const NOW = "2026-11-26T12:00:00Z";
const WINDOW = { from: "2026-11-24T00:00:00Z", to: "2026-11-26T00:00:00Z" };

async function open(bill: FakeBill, mishaps: Mishaps = {}) {
  const api = fakeApi(bill, mishaps);
  const source = await loadSource(bill.source, []);
  const clock = fixedClock(NOW);
  const purser = await openTestPurser({
    clock,
    fetch: api.fetch,
    env: { [source.fetch!.key.variable]: KEY },
  });
  const body = { source: bill.source, ...WINDOW, ...(bill.account && { account: bill.account }) };
  const step = async () => await purser.api("POST", "/bills/imports", body);
  return {
    ...{ purser, source, step, clock, mishaps },
    asked: api.asked,
    async importAll() {
      for (let steps = 0;; steps++) {
        const { status, body } = await step();
        assert.equal(status, 200, JSON.stringify(body));
        if (body.status === "done" || steps > 20) return body;
      }
    },
    async lines(query = "") {
      const { body } = await purser.api("GET", `/bills/lines?limit=1000${query}`);
      return body as Record<string, string | null>[];
    },
    async sum() {
      const billed = (await this.lines()).filter((line) =>
        line.series === "cost" && line.amount !== null && line.currency === "USD" && !line.is_equivalent
      );
      return addDecimals(billed.map(({ amount }) => amount!));
    },
    async [Symbol.asyncDispose]() {
      // Nothing that is kept or said has the key.
      const { rows } = await purser.core.store.read({ sql: "SELECT * FROM bill_imports" });
      const kept = JSON.stringify([
        rows.map(String),
        purser.logs,
        await this.lines(),
        await this.lines("&state=replaced"),
      ]);
      assert.ok(!kept.includes(KEY) && !kept.includes(btoa(`${KEY}:`)), "the key was kept");
      await purser[Symbol.asyncDispose]();
    },
  };
}

Deno.test("every source with an API has a fake one, and says what it is written by and what it can't show", async () => {
  const sources: BillSource[] = await Promise.all(
    Object.values(BILL_SOURCES).map(async (load) => (await load()).default),
  );
  assert.deepEqual(
    sources.filter(({ fetch }) => fetch).map(({ name }) => name).sort(),
    FAKE_BILLS.map(({ source }) => source).sort(),
  );
  for (const [index, name] of Object.keys(BILL_SOURCES).entries()) {
    const source = sources[index]!;
    assert.equal(source.name, name);
    assert.match(source.seen, /^2026-\d\d-\d\d[,:] ./);
    assert.ok(source.holes.length > 0 && source.title !== "");
  }
});

Deno.test("a source that two modules define is refused", async () => {
  const make: BillSourceModule = ({ defineBillSource, readTable }) =>
    defineBillSource({
      ...{ name: "acme", title: "Acme", seen: "2026", provider: null, delayMs: 0, finalAfterDays: 1 },
      ...{ mapping: 1, holes: [], series: ["cost"] },
      readFile: (file) => readTable(file, () => () => undefined),
    });
  const load = () => Promise.resolve({ default: make });
  assert.equal((await loadSource("acme", ["/a.ts"], load)).title, "Acme");
  for (const loadAny of [loadAllSources, loadSource.bind(null, "acme")]) {
    await assert.rejects(
      loadAny(["/a.ts", "/b.ts"], load),
      /source of bills acme: several modules define it/,
    );
  }
});

for (const [turn, bill] of FAKE_BILLS.entries()) {
  const test = (name: string, body: () => Promise<void>) => Deno.test(`${bill.source}: ${name}`, body);

  test("sums are exact, and the same answer again changes nothing", async () => {
    await using world = await open(bill);
    const done = await world.importAll();
    assert.deepEqual([done.lines, done.new_lines, done.revised_lines, done.unknown], [
      bill.lines,
      bill.lines,
      0,
      {},
    ]);
    assert.equal(await world.sum(), bill.sum);
    const before = await world.lines();
    const again = await world.importAll();
    assert.deepEqual([again.new_lines, again.revised_lines], [0, 0]);
    assert.deepEqual(await world.lines(), before);
    const { body } = await world.purser.api("GET", `/bills/imports?source=${bill.source}`);
    assert.equal(body.length, 2);
  });

  test("a changed amount is a revision; the earlier line is kept", async () => {
    await using world = await open(bill);
    await world.importAll();
    world.mishaps.edit = (text) => text.replaceAll(...bill.revised);
    const done = await world.importAll();
    assert.ok(done.revised_lines > 0);
    assert.equal(await world.sum(), bill.revisedSum);
    assert.equal((await world.lines("&state=replaced")).length, done.revised_lines);
    assert.equal((await world.lines()).length, bill.lines);
  });

  test("lines that the answer has no more are replaced by nothing", async () => {
    await using world = await open(bill);
    await world.importAll();
    world.mishaps.edit = (text) =>
      text.replace(
        /(\[)\{(?:"starting_at|"object":"bucket|"date|"model|"product|"timestamp).*\}(\][^\]]*)$/s,
        "$1$2",
      );
    const done = await world.importAll();
    assert.deepEqual([done.lines, done.revised_lines], [0, bill.lines]);
    assert.deepEqual(await world.lines(), []);
  });

  test("an import that is cut off after any answer goes on, and shows nothing before its end", async () => {
    const all = await (async () => {
      await using world = await open(bill);
      await world.importAll();
      return world.asked.length;
    })();
    for (const [place, endsAfter] of [...new Set([0, 1, Math.floor(all / 2), all - 1])].entries()) {
      if (!isInTurn(turn + place)) continue;
      await using world = await open(bill, { endsAfter });
      const { body } = await world.step();
      assert.equal(body.status, "in_progress");
      assert.match(body.reason, /gives no answer: .*connection reset/);
      assert.equal(body.retry_after_seconds, 60);
      assert.deepEqual(await world.lines(), []);
      delete world.mishaps.endsAfter;
      await world.importAll();
      assert.equal(await world.sum(), bill.sum);
      assert.equal((await world.lines()).length, bill.lines);
      // What had been staged was not asked for again.
      assert.equal(world.asked.length, all);
    }
  });

  test("a field that it doesn't know is counted", async () => {
    await using world = await open(bill);
    const at = bill.extended;
    world.mishaps.edit = (text) =>
      text.replaceAll(at, at.endsWith("{") ? `${at}"surprise":"x",` : `"surprise":"x",${at}`);
    const { unknown, lines } = await world.importAll();
    const [part, count] = Object.entries<number>(unknown)[0] ?? [];
    assert.match(part!, /surprise/);
    assert.ok(count! >= 1);
    assert.equal(lines, bill.lines);
    assert.equal(await world.sum(), bill.sum);
  });

  test("a line without a model is kept, and one in another currency is in no sum", async () => {
    await using world = await open(bill);
    world.mishaps.edit = (text) =>
      text.replaceAll(/"model(_permaslug)?":"[^"]*"/g, '"model$1":null').replaceAll(
        /"currency":"usd"/gi,
        '"currency":"EUR"',
      );
    const done = await world.importAll();
    assert.equal(done.lines, bill.lines);
    const statesCurrency = /anthropic|openai/.test(bill.source);
    assert.equal(await world.sum(), statesCurrency ? "0" : bill.sum);
  });

  test("it waits as Retry-After says, and goes on", async () => {
    const statuses = [
      { status: 429, headers: { "retry-after": "7" } },
      { status: 503 },
      { status: 529, headers: { "retry-after": "Thu, 26 Nov 2026 12:00:30 GMT" } },
    ];
    await using world = await open(bill, { statuses });
    for (const seconds of [7, 60, 30]) {
      const { body } = await world.step();
      assert.deepEqual([body.status, body.retry_after_seconds], ["in_progress", seconds]);
      assert.match(body.reason, /answers with status (429|503|529)$/);
    }
    await world.importAll();
    assert.equal(await world.sum(), bill.sum);
  });

  test("a refusal ends the import without its lines, and names no key", async () => {
    const refusals = [[401, /key is not accepted/], [403, /scope/], [404, /nothing at this address/], [
      400,
      /refused/,
    ]] as const;
    for (const [place, [status, message]] of refusals.entries()) {
      if (!isInTurn(turn + place)) continue;
      await using world = await open(bill, { statuses: [{ status }] });
      const { status: answered, body } = await world.step();
      assert.equal(answered, 502, JSON.stringify(body));
      assert.match(body.detail, message);
      assert.ok(!JSON.stringify(body).includes(KEY));
      const { body: [failed] } = await world.purser.api("GET", "/bills/imports");
      assert.deepEqual([failed.status, failed.lines], ["failed", 0]);
      assert.match(failed.error, message);
    }
  });

  test("JSON that is cut off is asked for again, and books nothing", async () => {
    await using world = await open(bill, { edit: (text) => text.slice(0, -2) });
    const { body } = await world.step();
    assert.deepEqual([body.status, body.lines], ["in_progress", 0]);
    assert.match(body.reason, /cut off after \d+ characters/);
    delete world.mishaps.edit;
    await world.importAll();
    assert.equal(await world.sum(), bill.sum);
  });

  test("lines of another time than the one that was asked for are refused", async () => {
    await using world = await open(bill);
    world.mishaps.edit = (text) =>
      text.replaceAll("2026-11-25", "2026-10-25").replaceAll(/"start_time":\d+/g, '"start_time":1764028800')
        .replaceAll(
          /"timestamp":"\d+"/g,
          '"timestamp":"1764028800000"',
        );
    const { status, body } = await world.step();
    // The days of Vercel and GitHub are those of the request.
    if (/vercel|copilot/.test(bill.source)) return assert.equal(body.status, "done");
    assert.deepEqual([status, body.code], [400, "invalid"], JSON.stringify(body));
    assert.match(body.detail, /it has a line of 202[56]-1\d-25T.*, outside of/);
    assert.deepEqual(await world.lines(), []);
  });

  test("another form of answer is refused with a sentence", async () => {
    await using world = await open(bill, { edit: () => `{"object":"list"}` });
    const { status, body } = await world.step();
    assert.equal(status, 502);
    assert.match(body.detail, /Cannot read the answer: .* is no (list|object)/);
  });

  if (/^(anthropic|openai)$/.test(bill.source)) {
    test("a page token that has expired begins the import anew, once", async () => {
      const isPage = (url: string) => new URL(url).searchParams.has("page");
      const asked = await (async () => {
        await using world = await open(bill);
        await world.importAll();
        return world.asked;
      })();
      const endsAfter = asked.findIndex(isPage);
      assert.ok(endsAfter > 0);
      await using world = await open(bill, { endsAfter });
      assert.equal((await world.step()).body.status, "in_progress");
      delete world.mishaps.endsAfter;
      world.mishaps.generation = 1;
      assert.equal((await world.importAll()).lines, bill.lines);
      assert.equal(await world.sum(), bill.sum);
      // The first pages, the token that was refused, and all of it again.
      assert.equal(world.asked.length, endsAfter + 1 + asked.length);
    });
  }
}

Deno.test("a server imports the sources of its config once a day, and all of the last month from the 1st to the 5th", async () => {
  const bill = FAKE_BILLS.find(({ source }) => source === "copilot")!;
  const api = fakeApi(bill);
  const clock = fixedClock(NOW);
  const config = await loadConfig({
    env: {
      PURSER_DB: ":memory:",
      PURSER_CONFIG_JSON: `{"bill_imports":[{"source":"copilot","account":"acme","key_env":"OTHER_KEY"}]}`,
    },
  });
  await using purser = await openTestPurser({
    ...{ clock, fetch: api.fetch, env: { OTHER_KEY: KEY } },
    config: { billImports: config.billImports },
  });
  const days = async () => {
    const before = api.asked.length;
    await importDueBills(purser.core);
    return api.asked.slice(before).map((url) => new URL(url).searchParams).map((query) =>
      `${query.get("month")}-${query.get("day")}`
    );
  };
  assert.deepEqual(await days(), ["11-23", "11-24", "11-25", "11-26"]);
  assert.deepEqual(await days(), []);
  clock.advance(DAY_MS);
  api.mishaps.statuses = [{ status: 403 }];
  assert.equal((await days()).length, 1);
  assert.match(JSON.stringify(purser.logs), /A bill could not be imported.*scope/);
  assert.deepEqual(await days(), ["11-24", "11-25", "11-26", "11-27"]);
  clock.advance(4 * DAY_MS);
  const all = await days();
  assert.deepEqual([all.length, all[0], all.at(-1)], [31, "11-1", "12-1"]);
  const { body } = await purser.api("GET", "/bills/imports");
  assert.deepEqual(body.map(({ status }: { status: string }) => status), ["done", "done", "failed", "done"]);
});

Deno.test("an entry of bill_imports that can't be used is named", async () => {
  const faults: [string, RegExp][] = [
    [`{"account":"a"}`, /bill_imports\[0\]\.source/],
    [`{"source":"openai","key_evn":"A"}`, /key_evn.*did you mean key_env\?/],
    [`{"source":"openai","key_env":"A","key_file":"/b"}`, /key_file: cannot be combined with key_env/],
    [`{"source":"openai","base_url":"ftp://x"}`, /base_url: must be an http/],
  ];
  for (const [entry, message] of faults) {
    const env = { PURSER_DB: ":memory:", PURSER_CONFIG_JSON: `{"bill_imports":[${entry}]}` };
    await assert.rejects(loadConfig({ env }), message);
  }
});
