import { docsPage } from "../docs_page.ts";
import { createRoute, json, problems, z } from "../route_parts.ts";
import { createRouter } from "../router.ts";

type Document = Parameters<typeof docsPage>[0];

const openapi = createRoute({
  method: "get",
  path: "/openapi.json",
  summary: "This API as an OpenAPI 3.1 document",
  tags: ["service"],
  responses: { 200: json(z.looseObject({ openapi: z.string() }), "The document"), ...problems() },
});

const docs = createRoute({
  method: "get",
  path: "/docs",
  summary: "This API as a page to read",
  tags: ["service"],
  responses: {
    200: { description: "The page", content: { "text/html": { schema: z.string() } } },
    ...problems(),
  },
});

export function documentRoutes(read: () => Document) {
  return createRouter()
    .openapi(openapi, (c) => c.json(read() as unknown as { openapi: string }, 200))
    .openapi(docs, async (c) => c.html(await docsPage(read()), 200));
}
