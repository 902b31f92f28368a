import assert from "node:assert/strict";
import { LONG_TO_PARSE } from "../../tests/harness/long_to_parse.ts";
import { openTestPurser } from "../../tests/harness/test_purser.ts";
import { createApp, createLazyApp } from "./app.ts";
import { permissionsOf } from "./middleware/authorize.ts";
import { createRoutes as createDocumentRoutes } from "./routes/documents.ts";
import { writeKeyText } from "../keys/key_text.ts";
import { findResource, isOpenPath, type Resource, RESOURCES } from "./resources.ts";

Deno.test("each resource has routes at each of its prefixes, and no route of another resource", async () => {
  await using purser = await openTestPurser();
  for (const resource of RESOURCES as readonly Resource[]) {
    const module = await resource.load();
    const routers = [
      module.createRoutes(purser.core, () => Promise.reject()),
      module.createStreamedRoutes?.(purser.core) ?? [],
    ].flat();
    const permissions = new Map([...permissionsOf(...routers), ...module.permissions ?? []]);
    const routes = routers.flatMap((router) => router.routes)
      .filter(({ method }) => method !== "ALL").map(({ method, path }) => `${method} ${path}`);
    // Those of OTLP are of every method, as those of the gateway's paths around them: others than POST are a 405.
    const documented = [...permissions.keys()].map((route) =>
      route.replaceAll(/\{(\w+)\}/g, ":$1").replace(/^ALL /, "POST ")
    );
    assert.deepEqual([...new Set(routes)].sort(), documented.sort(), "each has its permission");
    const used = new Set<string>();
    for (const [route, { scopes }] of permissions) {
      const path = route.slice(route.indexOf(" ") + 1);
      const example = path.replaceAll(/\{\w+\}/g, "x");
      assert.equal(findResource(example), resource, route);
      assert.equal(scopes === "open", isOpenPath(path), route);
      for (const prefix of resource.prefixes) {
        const pattern = prefix.split("/").map((segment) => segment === ":" ? "[^/]+" : segment).join("/");
        if (new RegExp(resource.isOpen ? `^${pattern}$` : `^${pattern}(/|$)`).test(path)) used.add(prefix);
      }
    }
    assert.deepEqual([...used].sort(), [...resource.prefixes].sort());
  }
});

Deno.test("findResource() takes the longest prefix", () => {
  const prefixesOf = (path: string) => findResource(path)?.prefixes[0];
  assert.equal(prefixesOf("/agents/a/runs"), "/agents/:/runs");
  assert.equal(prefixesOf("/agents/snapshot"), "/agents");
  assert.equal(prefixesOf("/agents/snapshot/restore"), "/agents/:/snapshot");
  assert.equal(prefixesOf("/sessions/s/events/imported"), "/agents/:/snapshot");
  assert.equal(prefixesOf("/costs/more"), "/costs");
  assert.equal(prefixesOf("/agent"), undefined);
  assert.equal(prefixesOf("/agents/a"), "/agents");
});

Deno.test("the lazy app answers as the whole app: for routes, for unknown paths, and to keys", async () => {
  await using purser = await openTestPurser();
  const [whole, lazy] = [await createApp(purser.core), createLazyApp(purser.core)];
  const admin = { keyId: "key_a", scopes: ["admin"], agentId: null } as const;
  const reader = { keyId: "key_b", scopes: ["read"], agentId: "a" } as const;
  const requests: [string, RequestInit?][] = [
    ["/agents"],
    ["/agents/a"],
    ["/agents/none"],
    ["/agents/a", { method: "PATCH" }],
    ["/agents/", {}],
    ["/agents/a/runs", { method: "GET" }],
    ["/agents/a/runs", { method: "POST", body: '{"input":""}', headers: JSON_TYPE }],
    ["/agents/a/runs", { method: "POST", body: "{", headers: JSON_TYPE }],
    ["/agents/a/runs", { method: "POST", body: "x" }],
    ["/agents/a/nothing"],
    ["/agents/s/snapshot"],
    ["/agents/snapshot/restore", { method: "POST", body: "{}", headers: JSON_TYPE }],
    ["/%61gents"],
    ["/agents/a/%72uns", { method: "PUT" }],
    ["/agents/snapshot"],
    ["/agents/snapshot/restore"],
    ["/agents/snapshot/restore", { method: "PUT", body: "x" }],
    ["/agents/snapshot/restore", { method: "POST", body: "x" }],
    ["/agents//runs"],
    ["/costs/"],
    ["/"],
    ["/docs/more"],
    ["/docs", { method: "POST", body: "x" }],
    ["/openapi.json"],
    ["/schemas/snapshot/v1.json"],
    ["/metrics"],
    ["/doctor"],
    ["/readyz"],
    ["/sessions?limit=0"],
    ["/sessions/s/events/imported"],
    ["/costs"],
    ["/costs?group_by=none"],
    ["/costs", { method: "HEAD" }],
    ["/costs", { method: "POST" }],
    ["/costs/events", { method: "POST", body: "[]", headers: JSON_TYPE }],
    ["/costs/more"],
    ["/keys", { method: "DELETE" }],
    ["/alerts"],
    ["/nothing"],
    ["/healthz"],
  ];
  const define = { method: "PUT", body: '{"model":"demo:echo"}', headers: JSON_TYPE };
  assert.equal((await lazy.fetch(new Request("http://purser.test/agents/a", define))).status, 201);
  for (const bindings of [undefined, { principal: admin }, { principal: reader }]) {
    for (const [path, init] of requests) {
      const answers = [];
      for (const app of [whole, lazy]) {
        const answer = await app.fetch(new Request(`http://purser.test${path}`, init), bindings);
        answers.push([answer.status, ...headersOf(answer), await answer.text()]);
      }
      assert.deepEqual(answers[1], answers[0], `${init?.method ?? "GET"} ${path}`);
    }
  }
});

Deno.test("a resource that can't be loaded is a problem of that request, and the next one tries again", async () => {
  await using purser = await openTestPurser();
  const costs = findResource("/costs")!;
  const { load } = costs;
  const lazy = createLazyApp(purser.core);
  const ask = async () => await lazy.fetch(new Request("http://purser.test/costs"));
  try {
    costs.load = () => Promise.reject(new Error("the file is away"));
    const refusal = await ask();
    assert.equal(refusal.status, 500);
    assert.equal((await refusal.json()).code, "internal");
  } finally {
    costs.load = load;
  }
  assert.deepEqual(await (await ask()).json(), []);
  assert.equal(purser.logs.filter(({ level }) => level === "error").length, 1);
});

const JSON_TYPE = { "content-type": "application/json" };

function headersOf({ headers }: Response): (string | null)[] {
  return ["content-type", "allow", "link", "www-authenticate"].map((name) => headers.get(name));
}

Deno.test("public documents are made once, also for requests at the same time, and again after a failure", async () => {
  await using purser = await openTestPurser();
  let made = 0;
  let isBroken = true;
  const wholeApp = () => {
    made++;
    return isBroken ? Promise.reject(new Error("broken")) : Promise.resolve(purser.app);
  };
  const routes = createDocumentRoutes(purser.core, wholeApp as never, new Map());
  const askAll = () =>
    Promise.all(
      Array.from({ length: 200 }, (_, i) => routes.request(i % 2 === 0 ? "/openapi.json" : "/docs")),
    );
  assert.ok((await askAll()).every(({ status }) => status === 500));
  isBroken = false;
  made = 0;
  for (const round of [1, 2]) {
    const texts = await Promise.all((await askAll()).map((response) => response.text()));
    assert.equal(new Set(texts).size, 2, `round ${round}`);
  }
  assert.equal(made, 2, "one for each of the two documents");
});

Deno.test("a problem has a bounded size, whatever the request had, and counts what it leaves out", async () => {
  await using purser = await openTestPurser();
  const many = (count: number, value: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => value(i)).join(",");
  const bodies = [
    `[{${many(15_000, (i) => `"k${i}":1`)}}]`,
    `[{"${"\\u0001".repeat(1_000_000)}":1}]`,
    `[${many(1_000, () => '{"x":1}')}]`,
    `[{${many(200, (i) => `"${i}${"💸".repeat(5_000)}":1`)}}]`,
  ];
  for (const body of bodies) {
    const response = await purser.fetch("POST", "/costs/events", { body });
    assert.equal(response.status, 400);
    const text = await response.text();
    assert.ok(text.length < 64_000, `${body.slice(0, 40)}: ${text.length}`);
    const { detail, details: { issues, issue_count = issues.length } } = JSON.parse(text);
    assert.ok(issues.length <= 100 && issue_count >= issues.length);
    assert.match(detail, issue_count > 1 ? /\(and \d+ more\)$/ : /is not known|\(and/);
  }
  const { details } = await (await purser.fetch("POST", "/costs/events", { body: bodies[0] })).json();
  assert.ok(details.issue_count > 15_000, `${details.issue_count}`);
  const long = await purser.app.request(`/agents/${"x".repeat(60_000)}`);
  assert.equal(long.status, 404);
  assert.ok((await long.text()).length < 4_000);
});

Deno.test("a body that takes long to parse or to check is refused, and none is an error of the server", async () => {
  await using purser = await openTestPurser();
  const event = { model: "openai:gpt-5-mini", agent_id: "a", input_tokens: 1, output_tokens: 1 };
  const around = (body: object) => {
    const [before, after] = JSON.stringify(body).split('"here"');
    return (json: string) => `${before}${json}${after}`;
  };
  const bodies: [method: string, path: string, body: (json: string) => string][] = [
    ["PUT", "/agents/a", around({ model: "demo:echo", tags: "here" })],
    ["PUT", "/agents/a", around({ model: "demo:echo", tools: "here" })],
    ["POST", "/agents/a/runs", around({ input: "Hi", tags: "here" })],
    ["POST", "/costs/events", around([{ ...event, tags: "here" }])],
    ["POST", "/costs/events", (json) => json],
    ["POST", "/alerts/rules", (json) => json],
    ["POST", "/budgets", around({ name: "b", limit_usd: 1, per: "day", warn_at: "here" })],
  ];
  for (const [name, shape] of Object.entries(LONG_TO_PARSE)) {
    const [small, large] = [shape(15_000), shape(230_000)];
    for (const [method, path, body] of bodies) {
      const checked = await purser.api(method, path, body(small));
      assert.deepEqual([checked.status, checked.body.code], [400, "invalid"], `${name} to ${path}`);
      const refused = await purser.api(method, path, body(large));
      assert.deepEqual([refused.status, refused.body.code], [413, "too_large"], `${name} to ${path}`);
    }
  }
});

Deno.test("a report of the most calls with the most tags is booked, though each has other tags", async () => {
  await using purser = await openTestPurser();
  const report = Array.from({ length: 1_000 }, (_, i) => ({
    call_id: `call-number-${i}`,
    at: "2026-11-01T11:00:00.000Z",
    agent_id: `agent-${i}`,
    session_id: `session-${i}`,
    run_id: `run-${i}`,
    provider: "openai",
    model: "gpt-5-mini",
    input_tokens: i,
    output_tokens: i,
    tags: Object.fromEntries(Array.from({ length: 10 }, (_, j) => [`key${j}`, `value-${i}-${j}`])),
  }));
  const { status, body } = await purser.api("POST", "/costs/events", report);
  assert.deepEqual([status, body.booked], [201, 1_000]);
});

Deno.test("a key in the place of an id is repeated nowhere in the problem", async () => {
  await using purser = await openTestPurser();
  const secret = "0123456789abcdefghjkmnpqrstvwxyz";
  const key = writeKeyText("key_01kaj4c0000000000000000000", secret);
  const provider = `sk-proj-${secret}${secret}`;
  for (const sent of [key, provider, key.replace("_", "%5F"), `Bearer%20${key}`]) {
    for (
      const path of [`/agents/${sent}`, `/runs/${sent}`, `/keys/${sent}`, `/${sent}/x`, `/costs?${sent}=1`]
    ) {
      const response = await purser.app.request(path);
      const text = await response.text();
      assert.ok(response.status === 404 || response.status === 400, `${path} ${response.status}`);
      assert.ok(!text.includes(secret), text);
      if (!path.startsWith("/costs")) assert.match(JSON.parse(text).instance, /\[redacted:/);
    }
  }
  const { body } = await purser.api("GET", "/agents/run_01k9qv3v5e8r6t2y4w7x9z1a3b");
  assert.equal(body.instance, "/agents/run_01k9qv3v5e8r6t2y4w7x9z1a3b", "an id is no key");
});
