import assert from "node:assert/strict";
import { openTestPurser } from "../../tests/harness/test_purser.ts";
import { createApp } from "./routes/mod.ts";
import { createLateApp, PARTS } from "./lazy_app.ts";
import { ROUTE_PERMISSIONS } from "./route_permissions.ts";

interface Documented {
  openAPIRegistry: { definitions: { type: string; route?: { method: string; path: string } }[] };
}

/** `GET /agents/{}`: the operations of a router, whatever their parameters are called. */
function operationsOf(router: unknown): string[] {
  const { definitions } = (router as Documented).openAPIRegistry;
  return definitions.filter(({ type }) => type === "route")
    .map(({ route }) => `${route!.method.toUpperCase()} ${route!.path.replaceAll(/\{\w+\}/g, "{}")}`).sort();
}

const pathOf = (operation: string) => operation.slice(operation.indexOf(" ") + 1);

Deno.test("each part has all operations of its paths, and no others", async () => {
  await using purser = await openTestPurser();
  const whole = operationsOf(createApp(purser.core));
  const seen = new Set<string>();
  const permitted = new Set(
    Object.keys(ROUTE_PERMISSIONS).map((route) => pathOf(route).replaceAll(/\{(\w+)\}/g, ":$1")),
  );
  for (const { paths, load } of PARTS) {
    const wanted = paths.map((path) => path.replaceAll(/:\w+/g, "{}"));
    for (const path of wanted) {
      assert.ok(!seen.has(path), `${path} is in two parts`);
      seen.add(path);
    }
    const { routes, unbounded = [] } = await load();
    const operations = [...routes, ...[unbounded].flat()]
      .flatMap((make) => operationsOf(make(purser.core))).sort();
    assert.deepEqual(operations, whole.filter((operation) => wanted.includes(pathOf(operation))), paths[0]);
    assert.deepEqual([...new Set(operations.map(pathOf))].sort(), [...wanted].sort());
    // By the same names: whoever has a key is refused at a path that the table does not name.
    for (const path of paths) assert.ok(permitted.has(path), path);
  }
  // What no command asks for.
  assert.deepEqual([...new Set(whole.map(pathOf))].filter((path) => !seen.has(path)).sort(), [
    "/",
    "/docs",
    "/doctor",
    "/healthz",
    "/metrics",
    "/openapi.json",
    "/readyz",
  ]);
});

Deno.test("the API is the same in parts: what is there, what is not, and who may", async () => {
  await using purser = await openTestPurser();
  const [whole, late] = [createApp(purser.core), createLateApp(purser.core)];
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
  assert.equal((await late.fetch(new Request("http://purser.test/agents/a", define))).status, 201);
  for (const bindings of [undefined, { principal: admin }, { principal: reader }]) {
    for (const [path, init] of requests) {
      const answers = [];
      for (const app of [whole, late]) {
        const answer = await app.fetch(new Request(`http://purser.test${path}`, init), bindings);
        answers.push([answer.status, ...headersOf(answer), await answer.text()]);
      }
      assert.deepEqual(answers[1], answers[0], `${init?.method ?? "GET"} ${path}`);
    }
  }
});

Deno.test("a part that can't be loaded is a problem of that request, and the next one tries again", async () => {
  await using purser = await openTestPurser();
  const part = PARTS.find(({ paths }) => paths.includes("/costs"))! as { load: typeof PARTS[number]["load"] };
  const { load } = part;
  const late = createLateApp(purser.core);
  const ask = async () => await late.fetch(new Request("http://purser.test/costs"));
  try {
    part.load = () => Promise.reject(new Error("the file is away"));
    const refusal = await ask();
    assert.equal(refusal.status, 500);
    assert.equal((await refusal.json()).code, "internal");
  } finally {
    part.load = load;
  }
  assert.deepEqual(await (await ask()).json(), []);
  assert.equal(purser.logs.filter(({ level }) => level === "error").length, 1);
});

const JSON_TYPE = { "content-type": "application/json" };

function headersOf({ headers }: Response): (string | null)[] {
  return ["content-type", "allow", "link", "www-authenticate"].map((name) => headers.get(name));
}
