import { docsPage } from "../openapi/docs_page.ts";
import { SNAPSHOT_JSON_SCHEMA, SNAPSHOT_SCHEMA_PATH } from "../../contract/snapshot/json_schema.ts";
import type { Core } from "../../service/mod.ts";
import { makeDocument } from "../openapi/document.ts";
import { createRoute, headers, json, problems, z } from "../create_route.ts";
import { createRouter, type Router } from "../router.ts";

const home = createRoute({
  method: "get",
  path: "/",
  scopes: "open",
  operationId: "redirectToDocs",
  summary: "Redirect to the docs page",
  tags: ["service"],
  responses: { 302: { description: "Redirects to /docs", headers: headers("Location") }, ...problems() },
});

const openapi = createRoute({
  method: "get",
  path: "/openapi.json",
  scopes: "open",
  operationId: "getOpenApiDocument",
  summary: "Get this API as an OpenAPI 3.1 document",
  tags: ["service"],
  responses: { 200: json(z.looseObject({ openapi: z.string() }), "The document"), ...problems() },
});

const docs = createRoute({
  method: "get",
  path: "/docs",
  scopes: "open",
  operationId: "getDocsPage",
  summary: "Get this API as a docs page",
  tags: ["service"],
  responses: {
    200: { description: "The page", content: { "text/html": { schema: z.string() } } },
    ...problems(),
  },
});

const schema = createRoute({
  method: "get",
  path: SNAPSHOT_SCHEMA_PATH,
  scopes: "open",
  operationId: "getSnapshotSchema",
  summary: "Get the JSON Schema of snapshots, version 1",
  tags: ["snapshots"],
  responses: {
    200: {
      description: "The schema (draft 2020-12)",
      content: { "application/schema+json": { schema: z.looseObject({ title: z.string() }) } },
    },
    ...problems(),
  },
});

export function createRoutes(_core: Core, wholeApp: () => Promise<Router>) {
  const readDocument = async () => makeDocument(await wholeApp());
  return createRouter()
    .openapi(home, (c) => c.redirect("/docs"))
    .openapi(openapi, async (c) => c.json({ ...await readDocument() }, 200))
    .openapi(docs, async (c) => c.html(await docsPage(await readDocument()), 200))
    .openapi(
      schema,
      (c) =>
        c.body(JSON.stringify(SNAPSHOT_JSON_SCHEMA), 200, {
          "content-type": "application/schema+json",
        }) as never,
    );
}
