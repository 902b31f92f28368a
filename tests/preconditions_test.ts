import assert from "node:assert/strict";
import { createIds } from "../src/kernel/ids.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { serverKindsInTime } from "./harness/database_servers.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** ETags of agents and rules, and the requests that depend on them. */

const RULE = { name: "Daily", threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" };
const AGENT = { model: "demo:echo" };
const PRICE = { provider: "own", model: "set", input_usd_per_million: 3, output_usd_per_million: 4 };

const etagOf = ({ headers }: { headers: Headers }) => headers.get("etag")!;

async function addRule(purser: TestPurser): Promise<{ path: string; etag: string }> {
  const created = await purser.api("POST", "/alerts/rules", RULE);
  return { path: created.headers.get("location")!, etag: etagOf(created) };
}

Deno.test("the ETag of a definition is strong, the same in every answer, and changes with what a writer can overwrite only", async () => {
  await using purser = await openTestPurser();
  const rule = await addRule(purser);
  const agent = "/agents/a";
  const defined = etagOf(await purser.api("PUT", agent, AGENT));
  assert.match(rule.etag, /^"[0-9a-f]{32}"$/);
  assert.match(defined, /^"[0-9a-f]{32}"$/);
  purser.clock.advance(1_000);
  await purser.api("POST", "/alerts/rules", { ...RULE, name: "Any", threshold_usd: 0.000000001 });
  await purser.api("POST", "/agents/a/runs", { input: "Spend, and fire a rule" });
  assert.equal(etagOf(await purser.api("GET", rule.path)), rule.etag);
  assert.equal(etagOf(await purser.api("GET", agent)), defined);
  assert.equal(etagOf(await purser.api("PUT", agent, AGENT)), defined, "the same again overwrites nothing");
  assert.equal(etagOf(await purser.api("PATCH", rule.path, { severity: "info" })), rule.etag);

  const seen = new Set([rule.etag]);
  for (
    const change of [
      { name: "B" },
      { threshold_type: "per_hour_usd" },
      { threshold_usd: 2 },
      { severity: "critical" },
      { cooldown_seconds: 1 },
      { repeat: "once_per_window" },
      { agent_id: "a" },
      { enabled: false },
    ]
  ) {
    const etag = etagOf(await purser.api("PATCH", rule.path, change));
    assert.ok(!seen.has(etag), JSON.stringify(change));
    assert.equal(etagOf(await purser.api("GET", rule.path)), etag);
    seen.add(etag);
  }
  const changed = etagOf(await purser.api("PUT", agent, { ...AGENT, max_steps: 3 }));
  assert.notEqual(changed, defined);
  await purser.api("DELETE", agent);
  purser.clock.advance(1);
  const again = etagOf(await purser.api("PUT", agent, { ...AGENT, max_steps: 3 }));
  assert.notEqual(again, changed, "another agent of that name");
});

/** The forms of `If-Match`, with `E` for the ETag; `true` for those that match. */
const IF_MATCH: [header: string, matches: boolean][] = [
  ["E", true],
  ["*", true],
  [" * ", true],
  ['"other", E', true],
  ['"a,b" ,, E ,', true],
  ["W/E", false],
  ['"other"', false],
  ['""', false],
  ['"other", "another"', false],
  ['W/E, "other"', false],
];

Deno.test("If-Match on PUT, PATCH and DELETE refuses with 412 unless a strong tag matches, and changes nothing then", async () => {
  await using purser = await openTestPurser();
  for (const [form, matches] of IF_MATCH) {
    const rule = await addRule(purser);
    const agent = { path: "/agents/a", etag: etagOf(await purser.api("PUT", "/agents/a", AGENT)) };
    const set = await purser.api("PUT", "/prices/rows", PRICE);
    const price = { path: `/prices/rows/${set.body.price_id}`, etag: etagOf(set) };
    for (
      const [method, { path: at, etag }, body, path = at] of [
        ["PATCH", rule, { name: "Daily" }],
        ["PUT", agent, AGENT],
        ["PUT", price, PRICE, "/prices/rows"],
        ["DELETE", rule],
        ["DELETE", agent],
        ["DELETE", price],
      ] as const
    ) {
      const before = (await purser.api("GET", at)).body;
      const headers = { "if-match": form.replaceAll("E", etag) };
      const answer = await purser.api(method, path, body, headers);
      const where = `${method} ${path} ${form}`;
      if (matches) {
        assert.equal(answer.status, method === "DELETE" ? 204 : 200, where);
        continue;
      }
      assert.deepEqual([answer.status, answer.body.code], [412, "precondition_failed"], where);
      assert.match(
        answer.body.detail,
        /^Cannot (PUT|PATCH|DELETE) \/\S+: it is not as If-Match expects; read it again/,
      );
      assert.deepEqual((await purser.api("GET", at)).body, before, where);
    }
  }
});

Deno.test("a header that holds no ETag is refused as such, also where it would not matter", async () => {
  await using purser = await openTestPurser();
  const { path, etag } = await addRule(purser);
  for (const header of [etag.slice(1, -1), "", ",", `${etag} x`, `w/${etag}`, `"a`, `*, ${etag}`, 'W/ "a"']) {
    for (const name of ["if-match", "if-none-match"]) {
      const { status, body } = await purser.api("PATCH", path, { name: "B" }, { [name]: header });
      assert.deepEqual([status, body.code], [400, "invalid"], `${name}: ${header}`);
    }
  }
});

Deno.test("a PUT with If-None-Match: * defines a new agent only, one with If-Match an existing one only", async () => {
  await using purser = await openTestPurser();
  const create = { "if-none-match": "*" };
  const over = { "if-match": "*" };
  assert.equal((await purser.api("PUT", "/agents/a", AGENT, over)).status, 412);
  assert.equal((await purser.api("GET", "/agents/a")).status, 404);
  const created = await purser.api("PUT", "/agents/a", AGENT, create);
  assert.equal(created.status, 201);
  const again = await purser.api("PUT", "/agents/a", { model: "demo:loop" }, create);
  assert.deepEqual(
    [again.status, again.body.detail],
    [412, "Cannot PUT /agents/a: it exists already; nothing was changed"],
  );
  assert.equal(
    (await purser.api("PUT", "/agents/a", AGENT, { "if-none-match": `W/${etagOf(created)}` })).status,
    412,
  );
  assert.equal((await purser.api("PUT", "/agents/a", AGENT, { "if-none-match": '"other"' })).status, 200);
  assert.equal((await purser.api("PUT", "/agents/a", { model: "demo:loop" }, over)).status, 200);
});

Deno.test("what does not exist is 404, whatever is expected of it", async () => {
  await using purser = await openTestPurser();
  for (
    const [method, path, body] of [
      ["PATCH", "/alerts/rules/rule_no", { enabled: false }],
      ["DELETE", "/alerts/rules/rule_no"],
      ["DELETE", "/agents/no"],
    ] as const
  ) assert.equal((await purser.api(method, path, body, { "if-match": "*" })).status, 404, path);
});

const WRITERS = 6;
const ROUNDS = 5;

/**
 * Lets several instances change the same definitions at once, over and over: of all that expect the same ETag one
 * succeeds, whatever the others write.
 */
async function race(open: () => Promise<TestPurser>): Promise<void> {
  await using one = await open();
  await using two = await open();
  const writer = (n: number) => (n % 2 === 0 ? one : two);
  const together = <T>(request: (purser: TestPurser, n: number) => Promise<T>) =>
    Promise.all(Array.from({ length: WRITERS }, (_, n) => request(writer(n), n)));
  const winnerOf = (answers: { status: number; headers: Headers; body: unknown }[], success: number) => {
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [success, ...Array(WRITERS - 1).fill(412)].sort());
    return answers.find(({ status }) => status === success)!;
  };
  const created = winnerOf(
    await together((purser, n) =>
      purser.api("PUT", "/agents/a", { ...AGENT, max_steps: n + 1 }, { "if-none-match": "*" })
    ),
    201,
  );
  let agentTag = etagOf(created);
  const { path, etag } = await addRule(one);
  let ruleTag = etag;
  for (let round = 0; round < ROUNDS; round++) {
    const ruled = winnerOf(
      await together((purser, n) =>
        purser.api("PATCH", path, { threshold_usd: 2 + round * WRITERS + n }, { "if-match": ruleTag })
      ),
      200,
    );
    ruleTag = etagOf(ruled);
    assert.deepEqual((await two.api("GET", path)).body, ruled.body);
    const put = winnerOf(
      await together((purser, n) =>
        purser.api("PUT", "/agents/a", { ...AGENT, max_steps: 10 + round * WRITERS + n }, {
          "if-match": agentTag,
        })
      ),
      200,
    );
    agentTag = etagOf(put);
    assert.equal(etagOf(await two.api("GET", "/agents/a")), agentTag);
  }
  const removed = await Promise.all([
    one.api("DELETE", path, undefined, { "if-match": ruleTag }),
    two.api("PATCH", path, { name: "B" }, { "if-match": ruleTag }),
  ]);
  const statuses = removed.map(({ status }) => status);
  assert.ok(
    [[204, 404], [204, 412], [412, 200]].some((pair) => String(pair) === String(statuses)),
    `${statuses}`,
  );
}

const ids = createIds({ now: () => Date.now() });

Deno.test("of concurrent changes that expect the same ETag one succeeds, over a file", () =>
  inDirectory((directory) =>
    race(() => openTestPurser({ ids, config: { dbUrl: `${directory}/purser.db` } }))
  ));

for (const kind of serverKindsInTime) {
  Deno.test({
    name: `${kind.name}: of concurrent changes that expect the same ETag one succeeds, over a server`,
    ignore: kind.ignore,
    async fn() {
      await using server = await kind.start(false);
      await race(() => openTestPurser({ ids, config: { dbUrl: server.url } }));
    },
  });
}

Deno.test("changes that expect nothing but existence all succeed, one after the other", async () => {
  await using purser = await openTestPurser();
  const { path } = await addRule(purser);
  const answers = await Promise.all(
    Array.from(
      { length: WRITERS },
      (_, n) => purser.api("PATCH", path, { threshold_usd: n + 2 }, { "if-match": "*" }),
    ),
  );
  assert.deepEqual(answers.map(({ status }) => status), Array(WRITERS).fill(200));
});
