import assert from "node:assert/strict";
import { OTLP_PATHS } from "../../src/http/resources.ts";
import { withAccessCheck } from "../../src/http/server/mod.ts";
import { ROOT } from "../../build/run_deno.ts";
import { makeKey } from "../harness/http_client.ts";
import type { OpenApiDocument } from "../harness/openapi_document.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { HEADERS, METHODS, NOT_JSON, OTHER_JSON, SEGMENTS, TYPES, valuesAt } from "./values.ts";

/**
 * The app's own table of routes: the other suites here loop over the OpenAPI document, so each route is in it, or it is one
 * of those below, which are tried here as far as they can be without knowing what they are for.
 */

/** Routes that are no operations of the API, each with the suite that knows what it is for. */
const OUTSIDE: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["v1", "v1beta", "v1alpha"].flatMap((version) => [
      [`ALL /${version}/*`, "tests/gateway/odd_requests_test.ts"],
      [`ALL /:provider/${version}/*`, "tests/gateway/odd_requests_test.ts"],
    ]),
  ),
  ...Object.fromEntries(
    OTLP_PATHS.flatMap((path) =>
      ["ALL", "POST"].map((method) => [`${method} ${path}`, "tests/otlp_http_test.ts"])
    ),
  ),
  "GET /ui": "tests/rest/cases/keys.ts",
  "GET /ui/*": "tests/rest/cases/keys.ts",
  "GET /ui/session": "tests/web_sessions_test.ts",
  "POST /ui/session": "tests/web_sessions_test.ts",
  "DELETE /ui/session": "tests/web_sessions_test.ts",
  "POST /ui/session/codes": "tests/web_sessions_test.ts",
};

Deno.test("every route of the app is in the OpenAPI document, or named here with the suite that has it", async () => {
  await using purser = await openTestPurser();
  const { paths }: OpenApiDocument = (await purser.api("GET", "/openapi.json")).body;
  const documented = new Set(
    Object.entries(paths).flatMap(([template, methods]) => {
      const path = template.replaceAll(/\{(\w+)\}/g, ":$1");
      // Of all methods: what is before the handlers of a path, or refuses its other methods.
      return [`ALL ${path}`, ...Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)];
    }),
  );
  documented.add("ALL /*"); // what is before all handlers
  const routes = new Set(purser.app.routes.map(({ method, path }) => `${method} ${path}`));
  assert.ok(routes.size > documented.size / 2);
  const others = [...routes].filter((route) => !documented.has(route));
  assert.deepEqual(others.sort(), Object.keys(OUTSIDE).sort());
  for (const [route, suite] of Object.entries(OUTSIDE)) {
    const [, path = ""] = route.split(" ");
    const text = await Deno.readTextFile(ROOT + suite);
    assert.ok(
      text.includes(path.replace("/:provider", "").replace(/(alpha|beta)?\/\*$/, "")),
      `${suite} has no ${path}`,
    );
  }
});

Deno.test("no hostile value is an internal error on a route outside the document, with a key and without", async () => {
  await using purser = await openTestPurser();
  const { key } = await makeKey(purser, ["admin"]);
  const handle = withAccessCheck(purser.core, purser.app);
  let sent = 0;
  const send = async (method: string, path: string, body: BodyInit, more: Record<string, string> = {}) => {
    const isBodiless = method === "GET" || method === "HEAD";
    for (const authorization of [`Bearer ${key}`, ""]) {
      const headers = {
        "content-type": "application/json",
        ...more,
        ...(authorization && { authorization }),
      };
      const init = { method, headers, ...(!isBodiless && { body }) };
      const { status, body: answer } = await handle(
        new Request(`http://localhost${path}`, init),
        "127.0.0.1",
      );
      await answer?.cancel();
      const value = `${JSON.stringify(more).slice(0, 200)} ${String(body).slice(0, 100)}`;
      assert.ok(status < 500, `${method} ${path.slice(0, 300)} ${value}: ${status}`);
      sent++;
    }
  };
  for (const [number, route] of Object.keys(OUTSIDE).entries()) {
    const [declared, pattern] = route.split(" ") as [string, string];
    const method = declared === "ALL" ? "POST" : declared;
    const pathWith = (part: string, provider = "openai") =>
      pattern.replace(":provider", () => provider).replace("*", () => part);
    for (const segment of valuesAt(number, SEGMENTS)) {
      await send(method, pathWith(segment), "{}");
      await send(method, pathWith("models", segment), "{}");
    }
    for (const headers of valuesAt(number, HEADERS)) await send(method, pathWith("models"), "{}", headers);
    for (const body of valuesAt(number, [...NOT_JSON, ...OTHER_JSON])) {
      await send(method, pathWith("chat/completions"), body);
    }
    for (const type of valuesAt(number, TYPES)) {
      await send(method, pathWith("messages"), "{}", { "content-type": type });
    }
    for (const other of METHODS) await send(other, pathWith("models"), "{}");
  }
  assert.ok(sent > 500, `${sent}`);
  assert.deepEqual(purser.logs.filter(({ level }) => level === "error"), []);
});
