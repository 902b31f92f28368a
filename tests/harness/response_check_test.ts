import assert from "node:assert/strict";
import { UNIVERSAL_HEADERS } from "../../src/http/middleware/response_headers.ts";
import type { OpenApiDocument, Schema } from "./openapi_document.ts";
import { createResponseCheck } from "./response_check.ts";
import type { SentRequest } from "./request_check.ts";

/** Tests of the check that all tests of the API rely on. */

const problem = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };

const DOCUMENT: OpenApiDocument = {
  paths: {
    "/things/{id}": {
      put: {
        operationId: "putThing",
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "string", pattern: "^[a-z]+$" } },
          { name: "limit", in: "query", schema: { type: "integer", minimum: 1 } },
          { name: "if-match", in: "header", schema: { type: "string", minLength: 3 } },
        ],
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } } },
        responses: {
          200: {
            headers: { Place: { required: true, schema: { type: "string" } } },
            content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } },
          },
          204: {},
          404: { content: problem },
        },
      },
    },
    "/stream": {
      get: {
        operationId: "stream",
        responses: {
          200: {
            content: {
              "text/event-stream": {
                schema: {
                  type: "object",
                  properties: { event: { enum: ["a"] }, data: { $ref: "#/components/schemas/Thing" } },
                },
              },
            },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      Thing: {
        type: "object",
        properties: {
          at: { type: "string", format: "date-time" },
          cost_usd: { type: ["number", "null"], format: "decimal" },
          count: { type: "integer", format: "int64" },
        },
        required: ["at"],
      } as Schema,
      Problem: { type: "object", properties: { code: { type: "string" } }, required: ["code"] } as Schema,
    },
  },
};

const check = createResponseCheck(DOCUMENT);
const AT = "2026-11-21T09:30:00.000Z";
const EVERYWHERE = { ...UNIVERSAL_HEADERS, "cache-control": "no-store" };
const GOOD: SentRequest = { body: { at: AT } };

function answer(body: unknown, { status = 200, type = "application/json", headers = {} } = {}): Response {
  const text = body === undefined ? null : JSON.stringify(body);
  return new Response(text, {
    status,
    headers: {
      ...EVERYWHERE,
      ...(text !== null && { "content-type": type }),
      place: "/things/a",
      ...headers,
    },
  });
}

const put = (response: Response, { path = "/things/a", request = GOOD } = {}) =>
  check("PUT", path, response, request);

Deno.test("the check of responses accepts what the document declares, and records the operation", async () => {
  await put(answer({ at: AT, cost_usd: 0.000000001, count: 2 ** 40 }));
  await put(answer({ at: AT, cost_usd: null }), { path: "/things/a?limit=3", request: GOOD });
  await check(
    "GET",
    "/nowhere",
    new Response('{"code":"x"}', {
      status: 404,
      headers: { ...EVERYWHERE, "content-type": "application/problem+json" },
    }),
  );
  assert.deepEqual([...check.succeeded], ["putThing"]);
});

Deno.test("the check of responses refuses statuses, types, headers and fields that are not declared", async () => {
  const withoutPlace = answer({ at: AT });
  withoutPlace.headers.delete("place");
  const wrong: [RegExp, Response][] = [
    [/status is not declared/, answer({ at: AT }, { status: 202 })],
    [/text\/html is not among/, answer({ at: AT }, { type: "text/html" })],
    [/place is missing/, withoutPlace],
    [/place is not declared/, answer({ code: "x" }, { status: 404, type: "application/problem+json" })],
    [/x-more is not declared/, answer({ at: AT }, { headers: { "x-more": "1" } })],
    [/additionalProperties/, answer({ at: AT, more: 1 })],
    [/required/, answer({})],
    [/date-time/, answer({ at: "2026-11-21T09:30:00Z" })],
    [/decimal/, answer({ at: AT, cost_usd: 0.1 + 0.2 + 1e-10 })],
    [/int64/, answer({ at: AT, count: 2 ** 60 })],
  ];
  for (const [message, response] of wrong) await assert.rejects(put(response), message);
  const notAllowed = new Response('{"code":"x"}', {
    status: 405,
    headers: { "content-type": "application/problem+json" },
  });
  await assert.rejects(check("DELETE", "/things/a", notAllowed), /allow is missing/);
});

Deno.test("the check of requests refuses one that was accepted though the document does not declare it", async () => {
  const wrong: [RegExp, { path?: string; request?: SentRequest }][] = [
    [/query's more is not declared/, { path: "/things/a?more=1" }],
    [/query's limit/, { path: "/things/a?limit=0" }],
    [/path's id/, { path: "/things/A" }],
    [/header's if-match/, { request: { ...GOOD, headers: { "If-Match": "x" } } }],
    [/the body/, { request: { body: { at: 1 } } }],
    [/the body/, { request: { body: '{"at": "yesterday"}' } }],
    [/a body is declared/, { request: {} }],
  ];
  for (const [message, given] of wrong) await assert.rejects(put(answer({ at: AT }), given), message);
  // A request that was refused may have any fault.
  const refused = new Response('{"code":"x"}', {
    status: 404,
    headers: { ...EVERYWHERE, "content-type": "application/problem+json" },
  });
  await put(refused, { path: "/things/A?more=1", request: {} });
});

Deno.test("the check of a stream aborts it at an event that is not declared", async () => {
  const read = async (text: string) =>
    await (await check(
      "GET",
      "/stream",
      new Response(text, { headers: { ...EVERYWHERE, "content-type": "text/event-stream" } }),
    )).text();
  const good = `: here\n\nevent: a\ndata: {"at": "${AT}"}\n\n`;
  assert.equal(await read(good), good);
  await assert.rejects(read(good.replace("event: a", "event: b")), /enum/);
  await assert.rejects(read(good + 'event: a\ndata: {"at": 1}\n\n'), /type/);
});
