import assert from "node:assert/strict";
import { openTestPurser } from "../../tests/harness/test_purser.ts";
import { createApp, createLazyApp } from "./app.ts";
import { permissionsOf } from "./middleware/authorize.ts";
import { findResource, isOpenPath, type Resource, RESOURCES } from "./resources.ts";

Deno.test("each resource has routes at each of its prefixes, and no route of another resource", async () => {
  await using purser = await openTestPurser();
  for (const resource of RESOURCES as readonly Resource[]) {
    const module = await resource.load();
    const routers = [
      module.createRoutes(purser.core, () => Promise.reject()),
      module.createStreamedRoutes?.(purser.core) ?? [],
    ].flat();
    const permissions = permissionsOf(...routers);
    const routes = routers.flatMap((router) => router.routes).map(({ method, path }) => `${method} ${path}`);
    const documented = [...permissions.keys()].map((route) => route.replaceAll(/\{(\w+)\}/g, ":$1"));
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
