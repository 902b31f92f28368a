import assert from "node:assert/strict";
import { EVENT } from "../../harness/bodies.ts";
import type { RestApi, RestCase } from "../rest_case.ts";

const report = (api: RestApi, id: string, more: object = {}) => ({
  ...EVENT,
  call_id: `${api.prefix}:${id}`,
  agent_id: api.prefix,
  at: new Date().toISOString(),
  ...more,
});

const costs = (api: RestApi, query: string) =>
  api.expect(200, "GET", `/costs?agent_id=${api.prefix}&${query}`);

const values = (rows: { tag_value: string | null; cost_usd: number }[]) =>
  rows.map(({ tag_value, cost_usd }) => [tag_value, cost_usd]);

export const tagCases: RestCase[] = [
  {
    name: "a run has its agent's tags and its own, which precede them, and so has each of its calls",
    async run(api) {
      const agent = await api.expect(201, "PUT", `/agents/${api.prefix}`, {
        model: "demo:echo",
        tags: { team: "search", customer: "another" },
      });
      assert.deepEqual(agent.tags, { team: "search", customer: "another" });
      const tags = { customer: "acme", user: "Ünal O'Neil" };
      const result = await api.expect(200, "POST", `/agents/${api.prefix}/runs`, { input: "Hi", tags });
      const all = { team: "search", ...tags };
      const run = await api.expect(200, "GET", `/runs/${result.run_id}`);
      assert.deepEqual(run.tags, all);
      const { calls } = await api.expect(200, "GET", `/sessions/${result.session_id}/costs`);
      assert.deepEqual(calls.map((call: { tags: object }) => call.tags), [all]);
      const explained = await api.expect(200, "GET", `/costs/calls/${calls[0].call_id}`);
      assert.deepEqual(explained.call.tags, all);
      const events = await api.expect(200, "GET", `/sessions/${result.session_id}/events`);
      const recorded = events.find(({ type }: { type: string }) => type === "cost.recorded");
      assert.deepEqual(recorded.payload.tags, all);
      const spent = result.token_usage.cost_usd;
      assert.deepEqual(values(await costs(api, "group_by=tag:user")), [[tags.user, spent]]);
      assert.deepEqual(values(await costs(api, "group_by=tag:other")), [[null, spent]]);
      // Reported back, the call is the same.
      const again = await api.expect(201, "POST", "/costs/events", calls);
      assert.deepEqual([again.booked, again.duplicates], [0, 1]);
    },
  },
  {
    name: "groups by a tag add up to the total, calls without it among them; filters are exact",
    async run(api) {
      const calls = [
        report(api, "1", { cost_usd: 1, tags: { customer: "acme", team: "a" } }),
        report(api, "2", { cost_usd: 2, tags: { customer: "acme", team: "b" } }),
        report(api, "3", { cost_usd: 4, tags: { customer: "acme:x=1", team: "a" } }),
        report(api, "4", { cost_usd: 8, tags: { team: "a" }, session_id: `${api.prefix}:s` }),
        report(api, "5", { cost_usd: 16 }),
        report(api, "6", { cost_usd: 32, tags: {} }),
      ];
      assert.equal((await api.expect(201, "POST", "/costs/events", calls)).booked, 6);
      const byCustomer = await costs(api, "group_by=tag:customer");
      assert.deepEqual(values(byCustomer), [[null, 56], ["acme:x=1", 4], ["acme", 3]]);
      assert.deepEqual(byCustomer.map((row: { tag_key: string }) => row.tag_key), Array(3).fill("customer"));
      const [total] = await costs(api, "group_by=agent");
      assert.equal(total.cost_usd, 63);
      assert.equal((await costs(api, "group_by=agent&tag=customer:acme"))[0].cost_usd, 3);
      assert.equal((await costs(api, "group_by=agent&tag=customer:acme:x=1"))[0].cost_usd, 4);
      assert.equal((await costs(api, "group_by=agent&tag=customer:acme&tag=team:b"))[0].cost_usd, 2);
      assert.deepEqual(await costs(api, "group_by=agent&tag=customer:ACME"), []);
      assert.equal((await costs(api, "group_by=session&tag=team:a"))[0].cost_usd, 8);
      assert.deepEqual(values(await costs(api, "group_by=day&split_by=tag:team")), [[null, 48], ["a", 13], [
        "b",
        2,
      ]]);
      const query = `agent_id=${api.prefix}&tag=team:a`;
      assert.equal((await api.expect(200, "GET", `/costs/total?${query}`)).cost_usd, 13);
      assert.equal((await api.expect(200, "GET", `/costs/forecast?${query}`)).cost_usd, 13);
      const what = await api.expect(200, "GET", `/costs/what-if?model=demo:echo&group_by=tag:team&${query}`);
      assert.deepEqual(values(what.rows), [["a", 13]]);
      const path = `/costs?agent_id=${api.prefix}&group_by=tag:customer`;
      const csv = await (await api.fetch("GET", path, { headers: { accept: "text/csv" } })).text();
      assert.match(csv, /^tag_value,model_calls,.*\r\n,3,.*,56,0\r\nacme:x=1,1,.*,4,0\r\nacme,2,.*,3,0\r\n$/);
      for (
        const query of [
          "group_by=tag:",
          "group_by=tag:a b",
          `group_by=tag:${"x".repeat(41)}`,
          "group_by=tag:a&split_by=tag:b",
          "tag=customer",
          "tag=:acme",
          "tag=a:",
          'tag=a"b:c',
          "tag=a:b&tag=a:c",
        ]
      ) await api.refused(400, "invalid", "GET", `/costs?${query}`);
    },
  },
  {
    name: "the keys of tags are listed by name, of the calls in a span that match, each once",
    async run(api) {
      const at = (hour: number) =>
        `2026-01-0${hour < 12 ? 1 : 2}T${String(hour).padStart(2, "0")}:00:00.000Z`;
      const calls = [
        report(api, "1", { at: at(9), tags: { team: "a", customer: "acme" } }),
        report(api, "2", { at: at(10), tags: { team: "b" }, model: "other" }),
        report(api, "3", { at: at(13), tags: { "Cost.center-1": "7" } }),
        report(api, "4", { at: at(14) }),
        report(api, "5", { at: at(9), agent_id: `${api.prefix}-b`, tags: { others: "x" } }),
      ];
      assert.equal((await api.expect(201, "POST", "/costs/events", calls)).booked, 5);
      const ask = (query: string) =>
        api.expect(200, "GET", `/costs/tag-keys?agent_id=${api.prefix}&${query}`);
      const all = [
        { tag_key: "Cost.center-1", last_used_at: at(13) },
        { tag_key: "customer", last_used_at: at(9) },
        { tag_key: "team", last_used_at: at(10) },
      ];
      assert.deepEqual(await ask(""), all);
      assert.deepEqual(await ask("from=2026-01-02&to=2026-01-03"), [all[0]]);
      assert.deepEqual(await ask("model=other"), [all[2]]);
      assert.deepEqual(await ask("tag=customer:acme"), [all[1], { ...all[2], last_used_at: at(9) }]);
      assert.deepEqual(await ask("from=2026-01-03"), []);
      await api.refused(400, "invalid", "GET", "/costs/tag-keys?from=2026-01-03&to=2026-01-02");
    },
  },
  {
    name: "a report that repeats a call may leave its tags out, and conflicts with other tags",
    async run(api) {
      const call = report(api, "1", { tags: { b: "2", a: "1" } });
      await api.expect(201, "POST", "/costs/events", [call]);
      for (const tags of [{ a: "1", b: "2" }, { a: "1" }, undefined, {}]) {
        assert.equal((await api.expect(201, "POST", "/costs/events", [{ ...call, tags }])).duplicates, 1);
      }
      for (const tags of [{ a: "2" }, { a: "1", c: "3" }]) {
        await api.refused(409, "conflict", "POST", "/costs/events", [{ ...call, tags }]);
      }
      const bare = report(api, "2");
      await api.expect(201, "POST", "/costs/events", [bare]);
      await api.refused(409, "conflict", "POST", "/costs/events", [{ ...bare, tags: { a: "1" } }]);
    },
  },
  {
    name: "a reported call has the tags of its agent, if that is defined here; its own precede them",
    async run(api) {
      const define = (tags: object, status = 200) =>
        api.expect(status, "PUT", `/agents/${api.prefix}`, { model: "demo:echo", tags });
      const tagsOf = async (id: string) =>
        (await api.expect(200, "GET", `/costs/calls/${api.prefix}:${id}`)).call.tags;
      const before = report(api, "0");
      await api.expect(201, "POST", "/costs/events", [before]);
      await define({ team: "search", customer: "another" }, 201);
      const own = report(api, "1", { tags: { customer: "acme" } });
      await api.expect(201, "POST", "/costs/events", [before, own, report(api, "2")]);
      assert.deepEqual(await tagsOf("0") ?? {}, {}, "it was booked before");
      assert.deepEqual(await tagsOf("1"), { team: "search", customer: "acme" });
      assert.deepEqual(await tagsOf("2"), { team: "search", customer: "another" });
      await define({ team: "ads", feature: "x" });
      assert.equal((await api.expect(201, "POST", "/costs/events", [own])).duplicates, 1);
      // A report of money that was spent is not refused because of the agent's tags.
      const nine = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`own-${index}`, "x"]));
      await api.expect(201, "POST", "/costs/events", [report(api, "3", { tags: nine })]);
      assert.deepEqual(await tagsOf("3"), { ...nine, feature: "x" });
    },
  },
  {
    name: "a repricing changes the sums of the tags of its calls, and is undone in them",
    async run(api) {
      const at = "2026-01-05T00:00:00.000Z";
      await api.expect(201, "POST", "/costs/events", [
        report(api, "1", { at, cost_usd: 1, tags: { customer: "acme" } }),
        report(api, "2", { at, cost_usd: 2 }),
      ]);
      const sums = async () =>
        new Map(values(await costs(api, "group_by=tag:customer")) as [string | null, number][]);
      const body = {
        from: "2026-01-01",
        to: "2026-02-01",
        agent_id: api.prefix,
        include_reported: true,
        apply: true,
      };
      const { repricing_id } = await api.expect(200, "POST", "/repricings", body);
      const after = await sums();
      assert.ok(after.get("acme")! < 0.1 && after.get(null)! < 0.1);
      assert.deepEqual(after.get("acme"), after.get(null));
      const filtered = await costs(api, "group_by=agent&tag=customer:acme");
      assert.equal(filtered[0].cost_usd, after.get("acme"));
      await api.expect(200, "POST", `/repricings/${repricing_id}/undo`);
      assert.deepEqual(await sums(), new Map([[null, 2], ["acme", 1]]));
    },
  },
  {
    name: "tags are bounded, wherever they are given",
    async run(api) {
      const wrong: [path: string, tags: unknown][] = [
        ["tags", Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`k${index}`, "v"]))],
        ["tags.a b", { "a b": "v" }],
        ["tags", []],
        ["tags.a", { a: "x".repeat(101) }],
        ["tags.a", { a: "" }],
        ["tags.a", { a: "line\nend" }],
        ["tags.a", { a: 1 }],
      ];
      for (const [path, tags] of wrong) {
        const agent = await api.refused(400, "invalid", "PUT", `/agents/${api.prefix}`, {
          model: "demo:echo",
          tags,
        });
        assert.match(agent.details.issues[0].path.replace('["a b"]', ".a b"), new RegExp(`^${path}`));
        await api.refused(400, "invalid", "POST", "/costs/events", [report(api, "1", { tags })]);
      }
      const most = Object.fromEntries(
        Array.from({ length: 10 }, (_, index) => [`k.${index}`, "ä".repeat(100)]),
      );
      await api.expect(201, "PUT", `/agents/${api.prefix}`, { model: "demo:echo", tags: most });
      // Together with those of the agent they would be eleven.
      const path = `/agents/${api.prefix}/runs`;
      await api.refused(400, "invalid", "POST", path, { input: "Hi", tags: { one: "more" } });
      await api.expect(200, "POST", path, { input: "Hi", tags: { "k.0": "another" } });
    },
  },
];
