import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";

/* The parts of a route's definition: its bodies, headers and streams. */

/** Returns a JSON response for a route's definition. */
export function json<Schema extends ZodType>(schema: Schema, description: string) {
  return { description, content: { "application/json": { schema } } };
}

/** Returns a required JSON body for a route's definition. */
export function jsonBody<Schema extends ZodType>(schema: Schema, example: z.input<Schema>) {
  // Routes ask for a promise, for which zod checks field by field; otherwise it compiles a schema, in half the time.
  schema.safeParseAsync = (body, params) => Promise.resolve(schema.safeParse(body, params));
  return { required: true, content: { "application/json": { schema, example } } };
}

/**
 * Returns the optional request headers of a route, for its `request`. The typed client has no field for them, since it would
 * be a required one; it sends those of its options: `$put(…, { headers: { "if-match": etag } })`.
 */
export function optionalHeaders(shape: Record<string, z.ZodOptional<z.ZodString>>): object {
  return { headers: z.object(shape) };
}

/** Returns a stream of server-sent events for a route's definition. The typed client reads text; the document has the events' schema. */
export function eventStream(event: ZodType) {
  return { "text/event-stream": { schema: event as unknown as z.ZodString } };
}
