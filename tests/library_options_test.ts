import assert from "node:assert/strict";
import {
  type CostsOptions,
  createAlertEvaluator,
  createDispatcher,
  openPurser,
  PurserError,
  type PurserOptions,
  type Session,
} from "../src/mod.ts";
import { readPages } from "../src/client/library/mod.ts";
import { fakeModel } from "./harness/fake_model.ts";
import { rejection } from "./harness/test_purser.ts";

/** The typed reads of a program, and the names of the library's options. */

const ECHO = { name: "echo", model: "demo:echo" };

const PRICE = { provider: "a", model: "b", input_usd_per_million: 1, output_usd_per_million: 1 };

const callOf = (id: string, more: object = {}) => ({
  call_id: id,
  at: "2026-11-01T09:30:00.000Z",
  agent_id: "nightly",
  provider: "demo",
  model: "echo",
  input_tokens: 100,
  output_tokens: 10,
  cost_usd: 0.000001,
  ...more,
});

Deno.test("costs() and sessions() return typed rows, of all pages or as many as are wanted", async () => {
  await using purser = await openPurser({ db: ":memory:", env: {} });
  for (const session of ["s1", "s2", "s3"]) await purser.runAgent(ECHO, "Hi", { sessionId: session });
  await purser.runAgent({ ...ECHO, name: "other" }, "Hi", { sessionId: "s4" });
  const calls = Array.from(
    { length: 1_500 },
    (_, i) => callOf(`c${i}`, { run_id: `r${i}`, session_id: `x${i}` }),
  );
  for (const batch of [calls.slice(0, 1_000), calls.slice(1_000)]) {
    const answer = await purser.app.request("/costs/events", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(batch),
    });
    assert.equal(answer.status, 201);
  }

  const agents = await purser.costs();
  assert.deepEqual(agents.map(({ agent_id, model_calls }) => [agent_id, model_calls]), [
    ["nightly", 1_500],
    ["echo", 3],
    ["other", 1],
  ]);
  assert.equal(agents[0]!.cost_usd, 0.0015);
  const runs = await purser.costs({ groupBy: "run" });
  assert.equal(new Set(runs.map(({ run_id }) => run_id)).size, 1_504);
  assert.equal((await purser.costs({ groupBy: "run", limit: 1_001 })).length, 1_001);
  assert.equal((await purser.costs({ groupBy: "run", limit: 1_000 })).length, 1_000);
  const span: CostsOptions = { from: "2026-11-01", to: new Date("2026-11-02T00:00:00Z"), model: "echo" };
  assert.deepEqual((await purser.costs(span)).map(({ model_calls }) => model_calls), [1_500]);
  assert.deepEqual((await purser.costs({ ...span, agentId: "echo" })).length, 0);

  const ids = (sessions: readonly Session[]) => sessions.map(({ session_id }) => session_id);
  assert.deepEqual(ids(await purser.sessions({ agentId: "echo" })).sort(), ["s1", "s2", "s3"]);
  const all = ids(await purser.sessions());
  for (const id of ["s1", "s2", "s3", "s4"]) assert.ok(all.includes(id), id);
  assert.deepEqual(ids(await purser.sessions({ limit: 2 })), all.slice(0, 2));
  const first: Session = (await purser.sessions({ agentId: "other" }))[0]!;
  assert.deepEqual([first.status, first.token_usage.model_calls], ["completed", 1]);

  for (
    const [read, message] of [
      [() => purser.costs({ groupBy: "color" as "agent" }), /group_by/],
      [() => purser.costs({ from: "yesterday" }), /from/],
      [() => purser.costs({ limit: 0 }), /limit must be a whole number of at least 1/],
      [() => purser.sessions({ limit: 1.5 }), /limit must be/],
    ] as const
  ) {
    const error = await rejection(read());
    assert.ok(error instanceof PurserError);
    assert.equal(error.code, "invalid");
    assert.match(error.message, message);
  }
});

Deno.test("readPages() follows the pages of a list, and throws the problem of any of them", async () => {
  const asked: string[] = [];
  const app = (failAt: number) => ({
    fetch(request: Request) {
      const url = new URL(request.url);
      asked.push(url.search);
      const page = Number(url.searchParams.get("cursor") ?? 0);
      if (page === failAt) {
        return Response.json({ code: "unavailable", detail: "Cannot read" }, { status: 503 });
      }
      const link = page < 3 ? { link: `</x?limit=1000&cursor=${page + 1}>; rel="next"` } : {};
      return Response.json([page], { headers: new Headers(Object.entries(link)) });
    },
  });
  assert.deepEqual(await readPages(app(9), "/x", { agent_id: "a b", model: undefined }), [0, 1, 2, 3]);
  assert.deepEqual(asked, ["?limit=1000&agent_id=a+b", ...[1, 2, 3].map((n) => `?limit=1000&cursor=${n}`)]);
  assert.deepEqual(await readPages(app(9), "/x", { limit: 2 }), [0, 1]);
  const error = await rejection(readPages(app(2), "/x", {}));
  assert.deepEqual([error.code, error.message], ["unavailable", "Cannot read"]);
});

Deno.test("await using closes Purser at the end of its block", async () => {
  let opened: Awaited<ReturnType<typeof openPurser>>;
  {
    await using purser = await openPurser({ db: ":memory:", env: {} });
    opened = purser;
    assert.equal((await purser.runAgent(ECHO, "Hi")).status, "completed");
  }
  assert.equal((await rejection(opened.runAgent(ECHO, "Hi"))).code, "unavailable");
});

Deno.test("an option of an unknown name, or in the other letter case, is refused with the name that is meant", async () => {
  await using purser = await openPurser({ db: ":memory:", env: {} });
  const open = (options: object) => openPurser({ db: ":memory:", env: {}, ...options } as PurserOptions);
  const model = fakeModel(() => assert.fail("no call is made")).model;
  const rule = { name: "A", threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" } as const;
  const send = () => ({ ok: true } as const);
  const snapshot = await purser.runAgent(ECHO, "Hi", { sessionId: "s" })
    .then(() => purser.exportSession("echo", "s"));
  const cases: [name: string, run: () => unknown, meant: string][] = [
    ["db_token", () => open({ db_token: "x" }), "dbToken"],
    ["durabilty", () => open({ durabilty: "full" }), "durability"],
    ["base_url", () => open({ providers: { mine: { base_url: "http://127.0.0.1:1" } } }), "baseUrl"],
    ["session_id", () => purser.runAgent(ECHO, "Hi", { session_id: "x" } as object), "sessionId"],
    ["with_events", () => purser.exportSession("echo", "s", { with_events: true } as object), "withEvents"],
    ["dry_run", () => purser.importSession(snapshot, { dry_run: true } as object), "dryRun"],
    [
      "cost_budget_usd",
      () => purser.meter(model, { agentId: "a", cost_budget_usd: 1 } as never),
      "costBudgetUsd",
    ],
    ["group_by", () => purser.costs({ group_by: "day" } as object), "groupBy"],
    ["agent_id", () => purser.sessions({ agent_id: "a" } as object), "agentId"],
    ["grace_ms", () => purser.close({ grace_ms: 1 } as object), "graceMs"],
    [
      "min_severity",
      () => createDispatcher([{ name: "own", send, min_severity: "info" } as never]),
      "minSeverity",
    ],
    ["minSeverity", () => createDispatcher([{ kind: "webhook", minSeverity: "info" }]), "min_severity"],
    ["timeoutMs", () => createDispatcher([{ kind: "webhook", name: "hook", timeoutMs: 1 }]), "timeout_ms"],
    ["rule", () => createAlertEvaluator({ rule: [rule], dispatcher: { channels: [] } } as never), "rules"],
    // Resources have the names of the API.
    [
      "costBudgetUsd",
      () => purser.runAgent({ ...ECHO, costBudgetUsd: 1 } as typeof ECHO, "Hi"),
      "costBudgetUsd",
    ],
    ["thresholdUsd", () =>
      open({
        alerts: createAlertEvaluator({
          rules: [{ ...rule, thresholdUsd: 1 } as never],
          dispatcher: createDispatcher([]),
        }),
      }), "thresholdUsd"],
    ["serviceTier", () => open({ prices: [{ ...PRICE, serviceTier: "flex" }] }), "serviceTier"],
  ];
  for (const [name, run, meant] of cases) {
    const error = await rejection((async () => await run())());
    assert.ok(error instanceof PurserError, name);
    assert.equal(error.code, "invalid", name);
    assert.ok(error.message.includes(name) && error.message.includes(meant), `${name}: ${error.message}`);
  }
});

Deno.test("every option of the library has a documentation comment, which editors show", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", new URL("../src/mod.ts", import.meta.url).pathname],
    stderr: "null",
  }).output();
  interface Member {
    name: string;
    jsDoc?: { doc?: string };
  }
  interface Declaration {
    kind: string;
    jsDoc?: { doc?: string };
    def: { properties?: Member[]; methods?: Member[] };
  }
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout)) as {
    nodes: Record<string, { symbols: { name: string; declarations: Declaration[] }[] }>;
  };
  const symbols = Object.values(nodes).flatMap((node) => node.symbols);
  const interfaces = symbols.flatMap(({ name, declarations }) =>
    declarations.filter(({ kind }) => kind === "interface").map(({ def, jsDoc }) => ({ name, def, jsDoc }))
  );
  for (
    const name of [
      "PurserOptions",
      "AgentInput",
      "MeterContext",
      "RuleInCode",
      "CostsOptions",
      "ChannelInput",
    ]
  ) {
    assert.ok(interfaces.some((each) => each.name === name), name);
  }
  const without = interfaces.flatMap(({ name, def, jsDoc }) => [
    ...(jsDoc?.doc ? [] : [name]),
    ...[...def.properties ?? [], ...def.methods ?? []].filter((member) => !member.jsDoc?.doc)
      // A symbol has its name in brackets.
      .map((member) => `${name}.${member.name}`),
  ]);
  assert.deepEqual(without, []);
});
