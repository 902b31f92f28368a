import { docsPage } from "../openapi/docs_page.ts";
import type { OpenApiDocument } from "../openapi/document.ts";
import { createRoute, headers, json, problems, z } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const home = createRoute({
  method: "get",
  path: "/",
  operationId: "redirectToDocs",
  summary: "Leads to the page",
  tags: ["service"],
  responses: { 302: { description: "It is at /docs", headers: headers("Location") }, ...problems() },
});

const openapi = createRoute({
  method: "get",
  path: "/openapi.json",
  operationId: "getOpenApiDocument",
  summary: "This API as an OpenAPI 3.1 document",
  tags: ["service"],
  responses: { 200: json(z.looseObject({ openapi: z.string() }), "The document"), ...problems() },
});

const docs = createRoute({
  method: "get",
  path: "/docs",
  operationId: "getDocsPage",
  summary: "This API as a page to read",
  tags: ["service"],
  responses: {
    200: { description: "The page", content: { "text/html": { schema: z.string() } } },
    ...problems(),
  },
});

export function documentRoutes(read: () => OpenApiDocument) {
  return createRouter()
    .openapi(home, (c) => c.redirect("/docs"))
    .openapi(openapi, (c) => c.json({ ...read() }, 200))
    .openapi(docs, async (c) => c.html(await docsPage(read()), 200));
}
