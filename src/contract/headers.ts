/** The headers of answers that mean something to a client; each is described once, for the whole document. */
export const RESPONSE_HEADERS = {
  Location: { description: "Where it is", required: true, schema: { type: "string" } },
  "WWW-Authenticate": {
    description: "How to show who is asking",
    required: true,
    schema: { type: "string" },
    example: "Bearer",
  },
  Link: {
    description: 'The next page, as `<path>; rel="next"` (RFC 8288); not there on the last one',
    schema: { type: "string" },
    example: '</sessions?limit=100&cursor=WzE3NjM3MTc0MDAwMDAsInNlcyJd>; rel="next"',
  },
  ETag: {
    description: "Changes with the document; for `If-None-Match`",
    required: true,
    schema: { type: "string" },
    example: 'W/"1-42"',
  },
  "Cache-Control": {
    description: "`no-cache`: ask with the `ETag` before using it again; `no-store`: keep it nowhere",
    required: true,
    schema: { type: "string" },
  },
  Vary: {
    description: "`accept-encoding`: the body may be gzipped",
    required: true,
    schema: { type: "string" },
  },
  "Content-Encoding": {
    description: "`gzip`, where the client takes that; not there otherwise",
    schema: { type: "string" },
    example: "gzip",
  },
  "Content-Disposition": {
    description: "A name for the file",
    required: true,
    schema: { type: "string" },
    example: 'attachment; filename="researcher_ses_demo.json"',
  },
  "Purser-Message-Count": {
    description: "How many messages the document has",
    required: true,
    schema: { type: "string", pattern: "^[0-9]+$" },
    example: "12",
  },
} as const;

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** Headers in a route's definition. */
export function headers(...names: ResponseHeader[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
