import assert from "node:assert/strict";
import { ROUTE_PERMISSIONS } from "./harness/permissions.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** The permissions that routes declare. Every route with a key of each kind is in `hostile/access_test.ts`. */

interface Operation {
  security?: Record<string, string[]>[];
  responses: Record<string, unknown>;
}

async function operationsOf({ app }: Awaited<ReturnType<typeof openTestPurser>>) {
  const document = await (await app.request("/openapi.json")).json();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, operation]) =>
      [`${method.toUpperCase()} ${path}`, operation] as const
    )
  );
  return { document, operations };
}

Deno.test("every route of the API states its permission", async () => {
  await using purser = await openTestPurser();
  const { operations } = await operationsOf(purser);
  assert.ok(operations.length > 30);
  assert.deepEqual(Object.keys(ROUTE_PERMISSIONS).sort(), operations.map(([route]) => route).sort());
  // Neither the dashboard nor OTLP is described by the document.
  const inApp = purser.app.routes.filter(({ method, path }) =>
    method !== "ALL" && !/^\/(ui|v1)(\/|$)/.test(path)
  )
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
  assert.deepEqual([...new Set(inApp)].sort(), Object.keys(ROUTE_PERMISSIONS).sort());
});

Deno.test("the OpenAPI document declares the scope of each operation, and its 401", async () => {
  await using purser = await openTestPurser();
  const { document, operations } = await operationsOf(purser);
  const { type, scheme } = document.components.securitySchemes.api_key;
  assert.deepEqual([type, scheme], ["http", "bearer"]);
  for (const [route, { security, responses }] of operations) {
    const { scopes } = ROUTE_PERMISSIONS[route]!;
    const expected = scopes === "open" ? [] : scopes.map((scope) => ({ api_key: [scope] }));
    assert.deepEqual(security, expected, route);
    assert.equal("401" in responses, scopes !== "open", route);
    assert.ok("403" in responses, route);
  }
});

Deno.test("the page of docs shows the same scope for each operation", async () => {
  await using purser = await openTestPurser();
  const page = await (await purser.app.request("/docs")).text();
  const count = (text: string) => page.split(text).length - 1;
  const tables = Object.values(ROUTE_PERMISSIONS).map(({ scopes }) => scopes);
  assert.equal(count("Needs no key."), tables.filter((scopes) => scopes === "open").length);
  assert.equal(
    count("Needs a key with <code>admin</code>."),
    tables.filter((scopes) => scopes.includes("admin")).length,
  );
  assert.equal(
    count("Needs a key with <code>read</code> or <code>run</code>."),
    tables.filter((scopes) => scopes.includes("read") && scopes.includes("run") && scopes.length === 2)
      .length,
  );
});

Deno.test("public routes are public by their exact path, and only for reading", () => {
  const open = Object.entries(ROUTE_PERMISSIONS).filter(([, { scopes }]) => scopes === "open");
  assert.deepEqual(open.map(([route]) => route).sort(), [
    "GET /",
    "GET /docs",
    "GET /docs/page.css",
    "GET /docs/page.js",
    "GET /healthz",
    "GET /openapi.json",
    "GET /readyz",
    "GET /schemas/snapshot/v1.json",
  ]);
});

Deno.test("all methods but GET need run or admin, and all of /keys needs admin", () => {
  for (const [route, { scopes }] of Object.entries(ROUTE_PERMISSIONS)) {
    if (scopes === "open") continue;
    if (!route.startsWith("GET ")) assert.ok(!scopes.includes("read"), route);
    if (route.includes(" /keys")) assert.deepEqual(scopes, ["admin"], route);
  }
});

Deno.test("read and run together grant what each grants alone, and nothing of admin", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  await purser.api("PUT", "/agents/a", { model: "demo:echo" });
  const { key } = await makeKey(purser, ["read", "run"]);
  assert.equal((await client.send("GET", "/agents", { key })).status, 200);
  assert.equal((await client.send("POST", "/agents/a/runs", { key, body: { input: "hi" } })).status, 200);
  assert.equal((await client.send("DELETE", "/agents/a", { key })).status, 403);
});

Deno.test("an unknown path is 404 or 405 with a key, and 401 without one", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const { key } = await makeKey(purser, ["read"]);
  const paths = [["GET", "/nope", 404], ["POST", "/agents", 405], ["OPTIONS", "/agents", 405]] as const;
  for (const [method, path, status] of paths) {
    assert.equal((await client.send(method, path, { key })).status, status, path);
    assert.equal((await client.send(method, path)).status, 401, path);
  }
});

Deno.test("a route without a permission answers no key, not even an admin's", async () => {
  await using purser = await openTestPurser();
  purser.app.get("/forgotten", (c) => c.text("a secret"));
  const client = openHttpClient(purser);
  const { key } = await makeKey(purser, ["admin"]);
  const response = await client.raw("GET", "/forgotten", { key });
  assert.equal(response.status, 403);
  assert.equal((await response.json()).detail, "Cannot GET /forgotten: no API key may do that");
});

Deno.test("another notation of a path grants no access", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const { key } = await makeKey(purser, ["read"], { agent_id: "a" });
  await purser.api("PUT", "/agents/b", { model: "demo:echo" });
  const open = ["/%68ealthz", "//healthz", "/healthz/", "/HEALTHZ", "/docs/../agents", "/docs/%2e%2e/agents"];
  for (const path of open) assert.equal((await client.raw("GET", path)).status, 401, path);
  const others = [
    "/agents/%62",
    "//agents/b",
    "/agents/b/",
    "/agents/a/../b",
    "/agents/b?agent_id=a",
    "/%61gents/b",
  ];
  for (const path of others) assert.notEqual((await client.raw("GET", path, { key })).status, 200, path);
});
