/** The response headers that a client may rely on, as components of the OpenAPI document. */
export const RESPONSE_HEADERS = {
  Location: {
    description: "Path of the created or target resource",
    required: true,
    schema: { type: "string" },
  },
  "WWW-Authenticate": {
    description: "The authentication scheme",
    required: true,
    schema: { type: "string" },
    example: "Bearer",
  },
  Link: {
    description: 'The next page, as `<path>; rel="next"` (RFC 8288); absent on the last page',
    schema: { type: "string" },
    example: '</sessions?limit=100&cursor=WzE3NjM3MTc0MDAwMDAsInNlcyJd>; rel="next"',
  },
  ETag: {
    description: "Changes with the document, or with the definition; for `If-None-Match` and `If-Match`",
    required: true,
    schema: { type: "string" },
    example: 'W/"1-42"',
  },
  "Retry-After": {
    description: "Seconds after which to try again",
    schema: { type: "string", pattern: "^[0-9]+$" },
    example: "1",
  },
  "Idempotency-Replayed": {
    description:
      "`true`: the answer is that of an earlier request with the same `Idempotency-Key`; absent otherwise",
    schema: { type: "string" },
    example: "true",
  },
  RateLimit: {
    description: "What is left of each rate limit that applies, and the seconds until it is whole again " +
      "(draft-ietf-httpapi-ratelimit-headers); absent where no such limit is set",
    schema: { type: "string" },
    example: '"requests_per_minute_per_key";r=599;t=1',
  },
  "RateLimit-Policy": {
    description: "The limits that apply: quota, unit and window in seconds; absent where none is set",
    schema: { type: "string" },
    example: '"requests_per_minute_per_key";q=600;w=60',
  },
  "Cache-Control": {
    description: "`no-cache`: revalidate with the `ETag` before reuse; `no-store`: do not store",
    required: true,
    schema: { type: "string" },
  },
  "Content-Security-Policy": {
    description: "Scripts, styles and requests of the page come from and go to this origin alone",
    required: true,
    schema: { type: "string" },
  },
  "Cross-Origin-Opener-Policy": {
    description: "`same-origin`",
    required: true,
    schema: { type: "string" },
  },
  "Cross-Origin-Resource-Policy": {
    description: "`same-origin`",
    required: true,
    schema: { type: "string" },
  },
  Vary: {
    description: "`accept-encoding`: the body may be gzipped",
    required: true,
    schema: { type: "string" },
  },
  "Content-Encoding": {
    description: "`gzip`, where the client accepts it; absent otherwise",
    schema: { type: "string" },
    example: "gzip",
  },
  "Content-Disposition": {
    description: "A file name",
    required: true,
    schema: { type: "string" },
    example: 'attachment; filename="researcher_ses_demo.json"',
  },
  "Purser-Message-Count": {
    description: "Number of messages in the document",
    required: true,
    schema: { type: "string", pattern: "^[0-9]+$" },
    example: "12",
  },
} as const;

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** Returns references to response headers, for a route's definition. */
export function headers(...names: ResponseHeader[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
