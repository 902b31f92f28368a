/** Values that a hostile client puts wherever one is expected. */

/** With `PURSER_HOSTILE`, every value is tried at every place; without it, at every thirteenth one. */
const isThorough = Deno.env.has("PURSER_HOSTILE");

/** Returns the values to try at one place of many, by the number of the place. */
export function valuesAt<Value>(place: number, values: readonly Value[], every = 13): readonly Value[] {
  return isThorough ? values : values.filter((_, index) => (index + place) % every === 0);
}

const LONG = "x".repeat(100_000);

/** Texts. */
export const TEXTS: readonly string[] = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\u001b[31m\u0007",
  "\u009b2J",
  "a\r\nSet-Cookie: a=b",
  "\u202eevil\u2066",
  "\ufeff",
  "\ud800",
  "\udfff\ud800",
  "\uffff",
  "Å日本𝕏",
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "../../etc/passwd",
  "..\\..",
  ".",
  "~",
  "*",
  "%",
  "%00",
  "%252e%252e",
  "' OR '1'='1",
  '"; DROP TABLE calls; --',
  "${7*7}{{7*7}}",
  "<script>alert(1)</script>",
  "true",
  "null",
  "NaN",
  "Infinity",
  "-1",
  "-0",
  "1e309",
  "0x10",
  "1.5",
  "9007199254740993",
  "99999999999999999999999999",
  "١٢",
  "[]",
  '{"$gt":""}',
  "+275760-09-13T00:00:00.001Z",
  "0000-00-00",
  "2026-02-30",
  LONG,
];

/** Segments of a path as they are written, which a server may decode once, twice or not at all. */
export const SEGMENTS: readonly string[] = [
  "%00",
  "alpha%00",
  "alpha%0d%0ax:y",
  "%2e%2e",
  "%2e%2e%2f%2e%2e%2fkeys",
  "%252e%252e%252fkeys",
  "..%2fkeys",
  "..%5ckeys",
  "%c0%ae%c0%ae%c0%af",
  "%e0%80%af",
  "%ff%fe",
  "%ed%a0%80",
  "%",
  "%z",
  "%u0061",
  "alpha;a=b",
  "alpha%2fruns",
  "alpha%3fa=b",
  "alpha%23",
  "%61lpha",
  "alpha%20",
  "alpha+",
  "alpha.json",
  "%7bagent_id%7d",
  ":agent_id",
  "*",
];

/** Values of JSON, one of each type and then some. */
export const TYPICAL: readonly unknown[] = [null, true, -1, 1.5, "", "a b", "\u0000", [], [null], {}];

/** More values of JSON. */
export const VALUES: readonly unknown[] = [
  0,
  -0,
  1e-10,
  0.1234567891,
  1e300,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  [[[]]],
  { toString: 1 },
  { length: 1, 0: "a" },
  "x".repeat(201),
  "-",
  "YES",
  ...TEXTS,
];

/** Numbers as they are written in JSON, or in what is not JSON. */
export const WRITTEN: readonly string[] = [
  "1e400",
  "-1e400",
  "1e-400",
  "-0",
  "1" + "0".repeat(400),
  "0." + "1".repeat(400),
  "9007199254740993",
  '"\\ud800"',
  '"\\u0000"',
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  "[".repeat(5_000) + "]".repeat(5_000),
  '{"a":'.repeat(5_000) + "1" + "}".repeat(5_000),
];

/** Texts that are no JSON. */
export const NOT_JSON: readonly string[] = [
  "{",
  "nonsense",
  "\u0000",
  '{"a":1}}',
  "{'a':1}",
  "NaN",
  "01",
  "+1",
  "0x10",
  '{"a":undefined}',
  '{"a":1,}',
  "[1,",
  '"\n"',
  '"\\x41"',
  '"\\u12"',
  "/**/{}",
  "[".repeat(99_000),
  '{"a":'.repeat(40_000),
];

/** Texts that are JSON, and no body of any operation. */
export const OTHER_JSON: readonly string[] = [
  "null",
  "true",
  "0",
  "1e400",
  '"text"',
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  "[".repeat(99_000) + "]".repeat(99_000),
  `{"${LONG}":1}`,
  `[${"{},".repeat(900)}{}]`,
  `{${Array.from({ length: 5_000 }, (_, i) => `"k${i}":${i}`)}}`,
];

/** Types of a body that is not JSON. */
export const TYPES: readonly string[] = [
  "text/plain",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/jsonp",
  "application/json-seq",
  "text/json",
  "json",
  "",
  "application/json, text/plain".replace("json,", "xml,"),
  "application/octet-stream",
];

/** Headers that a server, a proxy or a framework might act on. */
export const HEADERS: readonly Record<string, string>[] = [
  { "x-http-method-override": "DELETE" },
  { "x-http-method": "DELETE", "x-method-override": "DELETE" },
  { "x-original-url": "/keys", "x-rewrite-url": "/keys" },
  { "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1", "forwarded": "for=127.0.0.1;host=localhost" },
  { "x-forwarded-host": "localhost", "x-forwarded-prefix": "/../keys", "x-forwarded-proto": "javascript" },
  { "accept": "x".repeat(60_000) },
  { "accept": "text/event-stream;q=NaN, */*;q=-1,,;" },
  { "accept-encoding": "gzip;q=1e9, br;q=, *;q=0" },
  { "accept-language": "\u00e9".repeat(10_000) },
  { "range": "bytes=0-0,-1,5-2" },
  { "if-match": '"x"' },
  { "if-match": 'W/"1", "\u00ff", *' },
  { "if-none-match": `${'"x",'.repeat(10_000)}*` },
  { "if-modified-since": "yesterday", "if-unmodified-since": "Thu, 01 Jan 1970 00:00:00 GMT" },
  { "idempotency-key": "\u00e9" },
  { "idempotency-key": "k".repeat(10_000) },
  { "last-event-id": "-1" },
  { "last-event-id": "1e3" },
  { "last-event-id": "9".repeat(40) },
  { "content-encoding": "gzip" },
  { "content-encoding": "gzip, gzip, br, identity" },
  { "content-length": "-1" },
  { "content-length": "1e3" },
  { "content-length": "99999999999999999999" },
  { "transfer-encoding": "chunked, identity" },
  { "traceparent": "00-" + "0".repeat(32) + "-" + "z".repeat(16) + "-ff", "tracestate": "=,=,=" },
  { "cookie": "a=" + "b".repeat(60_000) },
  { "expect": "200-maybe" },
  { "upgrade": "websocket", "connection": "upgrade", "sec-websocket-key": "x" },
];

/** Methods, of which `Request` forbids some more. */
export const METHODS: readonly string[] = [
  ...["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "LOCK", "get1"],
  "X".repeat(2_000),
];
