import assert from "node:assert/strict";
import { serve } from "../../src/http/server/mod.ts";
import { dump } from "../harness/booking.ts";
import { EVENT } from "../harness/bodies.ts";
import { openTestPurser } from "../harness/test_purser.ts";

/**
 * Requests to a server that listens, byte by byte as they are written on a connection. The service has no keys, so that
 * nothing but the form of a request may stop it.
 */

const purser = await openTestPurser();
const server = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0 });
const port = Number(new URL(server.url).port);
Deno.test.afterAll(async () => {
  await server.shutdown();
  await purser[Symbol.asyncDispose]();
});

/** Generous: it only bounds how long a failing test takes. */
const DEADLINE_MS = 20_000;

/** Each character is one byte. */
const bytesOf = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

async function connect(text: string): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const bytes = bytesOf(text);
  // A refusal may close the connection before all is written.
  for (let at = 0; at < bytes.length;) {
    const written = await connection.write(bytes.subarray(at)).catch(() => bytes.length);
    at += written;
  }
  return connection;
}

/** Returns all that a server answers until it closes the connection. */
async function readAll(connection: Deno.TcpConn): Promise<string> {
  const timer = setTimeout(() => connection.close(), DEADLINE_MS);
  let answer = "";
  try {
    const buffer = new Uint8Array(65_536);
    for (;;) {
      const size = await connection.read(buffer).catch((error) => {
        if (error instanceof Deno.errors.ConnectionReset) return null;
        throw new Error(`the connection stays open after ${JSON.stringify(answer.slice(0, 300))}`, {
          cause: error,
        });
      });
      if (size === null) return answer;
      answer += String.fromCharCode(...buffer.subarray(0, size));
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Writes on a connection, and returns all that is answered until the server closes it. */
async function exchange(text: string, { isHalfClosed = false } = {}): Promise<string> {
  using connection = await connect(text);
  if (isHalfClosed) await connection.closeWrite().catch(() => {});
  return await readAll(connection);
}

const statusesIn = (answer: string) =>
  [...answer.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status));

async function checkHealth(where: string): Promise<void> {
  const answer = await exchange("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  assert.deepEqual(statusesIn(answer), [200], where);
  // Taken out, so that the next test reports its own.
  assert.deepEqual(purser.logs.splice(0).filter(({ level }) => level === "error"), [], where);
}

const EVENTS = JSON.stringify([EVENT]);
/** A whole request that must never be answered: it is within another one. */
const SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
/** A report with these lines in its head. */
const post = (lines: string, body = EVENTS) =>
  `POST /costs/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${lines}\r\n\r\n${body}`;
const get = (line: string, lines = "Host: localhost") => `${line}\r\n${lines}\r\nConnection: close\r\n\r\n`;
const chunked = (body: string, lines = "") =>
  post(`Connection: close\r\nTransfer-Encoding: chunked${lines}`, body);
const LENGTH = `Content-Length: ${EVENTS.length}`;

/** Texts that are no request, or two requests to different readers: each is refused by a 4xx, by 505 for another version, or by closing. */
const REFUSED: Record<string, string> = {
  "a length and chunks": post(`${LENGTH}\r\nTransfer-Encoding: chunked`, `0\r\n\r\n${SMUGGLED}`),
  "chunks and a length": post(`Transfer-Encoding: chunked\r\nContent-Length: 5`, `0\r\n\r\n${SMUGGLED}`),
  "chunks and a length of 0": post("Content-Length: 0\r\nTransfer-Encoding: chunked", `0\r\n\r\n${SMUGGLED}`),
  "two lengths": post(`${LENGTH}\r\nContent-Length: 0`, EVENTS + SMUGGLED),
  "two lengths, the second one is right": post(`Content-Length: 0\r\n${LENGTH}`, EVENTS + SMUGGLED),
  "a list of lengths": post("Content-Length: 0, 5", SMUGGLED),
  "a signed length": post("Content-Length: +0", SMUGGLED),
  "a negative length": post("Content-Length: -1", SMUGGLED),
  "a hexadecimal length": post("Content-Length: 0x0", SMUGGLED),
  "a length with an exponent": post("Content-Length: 0e0", SMUGGLED),
  "a length with a space": post("Content-Length: 0 0", SMUGGLED),
  "a length over 64 bits": post("Content-Length: 18446744073709551616", SMUGGLED),
  "an empty length": post("Content-Length:", SMUGGLED),
  "a length of other digits": post("Content-Length: \u00b2", SMUGGLED),
  "an unknown encoding": post("Transfer-Encoding: xchunked", `0\r\n\r\n${SMUGGLED}`),
  "chunked and then another encoding": post("Transfer-Encoding: chunked, identity", `0\r\n\r\n${SMUGGLED}`),
  "another encoding alone": post("Transfer-Encoding: gzip", `0\r\n\r\n${SMUGGLED}`),
  "an encoding after a vertical tab": post("Transfer-Encoding: \x0bchunked", `0\r\n\r\n${SMUGGLED}`),
  "an encoding with a NUL": post("Transfer-Encoding: chunked\0", `0\r\n\r\n${SMUGGLED}`),
  "two encodings": post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", `0\r\n\r\n${SMUGGLED}`),
  "a space before the colon": post("Transfer-Encoding : chunked", `0\r\n\r\n${SMUGGLED}`),
  "a space before the colon of the length": post(`Content-Length : 0`, SMUGGLED),
  "a header without a colon": get("GET /healthz HTTP/1.1", "Host: localhost\r\nnonsense"),
  "a header without a name": get("GET /healthz HTTP/1.1", "Host: localhost\r\n: x"),
  "a first header with a space before it": get("GET /healthz HTTP/1.1", " Host: localhost"),
  "a NUL in a header's name": get("GET /healthz HTTP/1.1", "Host: localhost\r\na\0b: c"),
  "a NUL in a header's value": get("GET /healthz HTTP/1.1", "Host: localhost\r\na: b\0c"),
  "a CR in a header's value": get("GET /healthz HTTP/1.1", "Host: localhost\r\na: b\rc: d"),
  "a name with a parenthesis": get("GET /healthz HTTP/1.1", "Host: localhost\r\na(b: c"),
  "a chunk's size that is no number": chunked("zz\r\n[]\r\n0\r\n\r\n"),
  "a negative chunk's size": chunked("-2\r\n[]\r\n0\r\n\r\n"),
  "a chunk's size with a prefix": chunked("0x2\r\n[]\r\n0\r\n\r\n"),
  "an empty chunk's size": chunked("\r\n[]\r\n0\r\n\r\n"),
  "a chunk's size over 64 bits": chunked("10000000000000002\r\n[]\r\n0\r\n\r\n"),
  "a chunk longer than its size": chunked("1\r\n[]\r\n0\r\n\r\n"),
  "a chunk without its end": chunked("2\r\n[]0\r\n\r\n"),
  "no host": "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n",
  "two hosts": get("GET /healthz HTTP/1.1", "Host: localhost\r\nHost: evil.example"),
  "two hosts, the second one is right": get("GET /healthz HTTP/1.1", "Host: evil.example\r\nHost: localhost"),
  "HTTP/0.9": "GET /healthz\r\n\r\n",
  "an unknown version": get("GET /healthz HTTP/9.9"),
  "a version of one digit": get("GET /healthz HTTP/1"),
  "another protocol": get("GET /healthz ICY/1.1"),
  "a lower-case protocol": get("GET /healthz http/1.1"),
  "no version": "GET /healthz \r\nHost: localhost\r\n\r\n",
  "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
  "a space in the path": get("GET /a b HTTP/1.1"),
  "a NUL in the path": get("GET /health\0z HTTP/1.1"),
  "a path without a slash": get("GET healthz HTTP/1.1"),
  "an empty path": get("GET  HTTP/1.1"),
  "a tab in the request line": get("GET\t/healthz\tHTTP/1.1"),
  "a lower-case method": get("get /healthz HTTP/1.1"),
  "an unknown method": get("FROBNICATE /agents HTTP/1.1"),
  "a long method": get(`${"G".repeat(10_000)} / HTTP/1.1`),
  "CONNECT": get("CONNECT localhost:22 HTTP/1.1"),
  "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "\xaa".repeat(500),
  "another protocol's banner": "SSH-2.0-OpenSSH_9.6\r\n",
  "NULs": "\0".repeat(1_000),
  "random bytes": Array.from({ length: 500 }, (_, i) => String.fromCharCode((i * 167 + 13) % 256)).join("") +
    "\r\n\r\n",
  "a long path": get(`GET /${"a".repeat(300_000)} HTTP/1.1`),
  "a long header": get("GET /healthz HTTP/1.1", `Host: localhost\r\na: ${"b".repeat(300_000)}`),
  "10,000 headers": get("GET /healthz HTTP/1.1", `Host: localhost\r\n${"a: b\r\n".repeat(10_000)}c: d`),
  "a line without an end": "G".repeat(1_000_000),
};

for (const [name, text] of Object.entries(REFUSED)) {
  Deno.test(`${name}: the connection is refused, and nothing in it is a request`, async () => {
    const before = await dump(purser.core.store);
    // A client that waits for a rest that never comes is among the slow ones; these have said all.
    const answer = await exchange(text, { isHalfClosed: true });
    const statuses = statusesIn(answer);
    assert.ok(statuses.length <= 1, `${statuses}: ${answer}`);
    assert.ok(statuses.every((status) => (status >= 400 && status < 500) || status === 505), answer);
    assert.doesNotMatch(answer, /smuggled/, answer);
    assert.deepEqual(await dump(purser.core.store), before);
    await checkHealth(name);
  });
}

/** Unusual requests with the statuses that they may get, in order; 0 is a connection that is closed without an answer. */
const ANSWERED: Record<string, [text: string, ...statuses: number[][]]> = {
  "a chunk's extension is ignored": [
    chunked(`2;name=value;other="a;b"\r\n[]\r\n0\r\n\r\n`),
    [201],
  ],
  "a trailer is ignored": [chunked(`${chunk("[]")}0\r\nAuthorization: Bearer x\r\n\r\n`), [201]],
  "a trailer with a length is ignored or refused": [
    chunked(`${chunk("[]")}0\r\nContent-Length: 5\r\n\r\n`),
    [201, 400, 0],
  ],
  "HTTP/2 in a request line is read as HTTP/1.1 or refused": [
    get("GET /healthz HTTP/2.0"),
    [200, 400, 505, 0],
  ],
  "chunks in capitals, with leading zeros": [chunked("0000000002\r\n[]\r\n000\r\n\r\n"), [201]],
  "a long chunk's extension is ignored or refused": [
    chunked(`2;${"a".repeat(100_000)}\r\n[]\r\n0\r\n\r\n`),
    [201, 400, 413, 431, 0],
  ],
  "the same length twice is one length or refused": [post(`Connection: close\r\n${LENGTH}\r\n${LENGTH}`), [
    201,
    400,
  ]],
  "a folded header is one header or refused": [
    get("GET /healthz HTTP/1.1", "Host: localhost\r\na: b\r\n c"),
    [200, 400, 0],
  ],
  "lines that end in LF alone are read or refused": [
    "GET /healthz HTTP/1.1\nHost: localhost\nConnection: close\n\n",
    [200, 400, 0],
  ],
  "the body of a GET is no request": [
    `GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
    [200, 400, 413, 415],
  ],
  "the body of a refused request is no request": [
    `PUT /smuggling HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
    [404, 415],
  ],
  "the chunks of a refused request are no request": [
    `POST /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${
      chunk(SMUGGLED)
    }0\r\n\r\n`,
    [405, 415],
  ],
  "what follows a request that closes is no request": [get("GET /healthz HTTP/1.1") + SMUGGLED, [200]],
  "requests in a row are answered in order": [
    ["/healthz", "/nowhere", "/channels"].map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      .join(
        "",
      ) +
    get("GET /agents/none HTTP/1.1"),
    [200],
    [404],
    [200],
    [404],
  ],
  "HTTP/1.0": ["GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n", [200]],
  "HTTP/1.0 without a host": ["GET /agents HTTP/1.0\r\n\r\n", [200, 400, 403, 0]],
  "HTTP/1.0 with chunks": [
    post("Transfer-Encoding: chunked", `0\r\n\r\n`).replace("HTTP/1.1", "HTTP/1.0"),
    [400, 411, 0],
  ],
  "an absolute address": [get("GET http://localhost/healthz HTTP/1.1"), [200, 400]],
  // It takes precedence over the header (RFC 9112, 3.2.2).
  "another host in an absolute address": [get("GET http://evil.example/agents HTTP/1.1"), [400, 403]],
  "another host than that of an absolute address": [
    get("GET http://localhost/agents HTTP/1.1", "Host: evil.example"),
    [400, 403],
  ],
  "another host in an absolute address, both": [
    get("GET http://evil.example/agents HTTP/1.1", "Host: evil.example"),
    [400, 403],
  ],
  "a path that looks like another host": [get("GET //evil.example/agents HTTP/1.1"), [400, 403, 404]],
  "a path that looks like the own host": [get("GET //localhost/agents HTTP/1.1"), [400, 404]],
  "a path with a backslash": [get("GET /\\evil.example/agents HTTP/1.1"), [400, 403, 404]],
  "a path with a user": [get("GET @evil.example/agents HTTP/1.1"), [400, 403, 404, 0]],
  "a fragment in the path": [get("GET /agents#x HTTP/1.1"), [200, 400, 404]],
  "another scheme": [get("GET file:///etc/passwd HTTP/1.1"), [400, 403, 404, 0]],
  "an asterisk": [get("OPTIONS * HTTP/1.1"), [400, 404, 405, 0]],
  "an asterisk for another method": [get("GET * HTTP/1.1"), [400, 404, 405, 0]],
  "TRACE": [get("TRACE /agents HTTP/1.1"), [400, 405]],
  "a host with a port that is none": [get("GET /agents HTTP/1.1", "Host: localhost:99999"), [400, 403]],
  "a host with a path": [get("GET /agents HTTP/1.1", "Host: localhost/evil"), [400, 403]],
  "a host with a user": [get("GET /agents HTTP/1.1", "Host: localhost@evil.example"), [400, 403]],
  "a list of hosts": [get("GET /agents HTTP/1.1", "Host: localhost, evil.example"), [400, 403]],
  "an empty host": [get("GET /agents HTTP/1.1", "Host:"), [400, 403]],
  "a host of one bracket": [get("GET /agents HTTP/1.1", "Host: [::1"), [400, 403]],
  "bytes that are no UTF-8 in the path": [get("GET /agents/\xff\xfe HTTP/1.1"), [400, 404, 0]],
  "bytes that are no UTF-8 in a header": [
    get("GET /healthz HTTP/1.1", "Host: localhost\r\na: \xff\xfe\x80"),
    [200, 400],
  ],
  "bytes that are no UTF-8 in the key": [
    get("GET /agents HTTP/1.1", "Host: localhost\r\nAuthorization: Bearer \xff\xfe"),
    [200, 400, 401],
  ],
  "1,000 headers": [
    get(
      "GET /healthz HTTP/1.1",
      `Host: localhost\r\n${Array.from({ length: 1_000 }, (_, i) => `a${i}: b`).join("\r\n")}`,
    ),
    [200, 400, 431, 0],
  ],
  "an upgrade to WebSocket": [
    get("GET /healthz HTTP/1.1", "Host: localhost\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA=="),
    [200, 400, 0],
  ],
  "an upgrade to HTTP/2": [
    `GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade, http2-settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
    [200, 400, 0],
  ],
  "a client that asks before it sends its body": [
    post(`Connection: close\r\nExpect: 100-continue\r\nContent-Length: 2`, "[]"),
    [100, 201],
  ],
  "a client that expects something else": [
    post(`Connection: close\r\nExpect: a-miracle\r\nContent-Length: 2`, "[]"),
    [201, 400, 417],
  ],
  "an empty line before a request": [`\r\n${get("GET /healthz HTTP/1.1")}`, [200, 400, 0]],
  "a body that is shorter than its length": [post("Content-Length: 5000"), [400, 408, 0]],
  "a body that ends within a chunk": [chunked("5\r\n[]"), [400, 408, 0]],
  "a body without its last chunk": [chunked(chunk(EVENTS)), [400, 408, 0]],
};

for (const [name, [text, ...expected]] of Object.entries(ANSWERED)) {
  Deno.test(`${name}: ${expected.map((statuses) => statuses.join(" or ").replace(/\b0\b/, "closed")).join(", ")}`, async () => {
    const before = await dump(purser.core.store);
    const isOpen = /Connection: close|HTTP\/1\.0/.test(text) && !/shorter|within|last chunk/.test(name);
    const answer = await exchange(text, { isHalfClosed: !isOpen });
    const statuses = statusesIn(answer).filter((status) => status !== 100 || expected[0]!.includes(100));
    const withContinue = statuses[0] === 100 ? statuses.slice(1) : statuses;
    assert.equal(withContinue.length || 1, expected.length, `${statuses}: ${answer}`);
    for (const [index, allowed] of expected.entries()) {
      const status = withContinue[index] ?? 0;
      assert.ok(allowed.includes(status), `${status}: ${answer}`);
    }
    assert.doesNotMatch(answer, /smuggled/, answer);
    assert.deepEqual(await dump(purser.core.store), before);
    await checkHealth(name);
  });
}

/** Bytes without end that are part of no request: the start of a request, and what follows it again and again. */
const ENDLESS: Record<string, [start: string, more: string]> = {
  "chunk extensions": [chunked("2;"), "a"],
  "zeros before a chunk's size": [chunked("0"), "0"],
  "extensions of small chunks": [chunked(""), `1;${"a".repeat(500)}\r\n \r\n`],
  "empty lines before a request": ["", "\r\n"],
  "empty lines after a request": ["GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "\r\n"],
  "empty lines while a request is answered": ["GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n", "\r\n"],
};
/** More than sockets hold, so that the server has received some of it. */
const ENDLESS_BYTES = 24 * 1024 * 1024;

for (const [name, [start, more]] of Object.entries(ENDLESS)) {
  Deno.test(`${name} without end: the connection is refused within a second`, async () => {
    const before = await dump(purser.core.store);
    using connection = await connect(start);
    const reading = readAll(connection);
    const bytes = bytesOf(more.repeat(Math.ceil(1024 * 1024 / more.length)));
    let isOpen = true;
    const timer = setTimeout(() => connection.close(), DEADLINE_MS);
    for (let sent = 0; sent < ENDLESS_BYTES && isOpen;) {
      sent += await connection.write(bytes.subarray(sent % bytes.length)).catch(() => {
        isOpen = false;
        return 0;
      });
    }
    clearTimeout(timer);
    purser.clock.advance(1_000);
    const answer = await reading;
    assert.ok(statusesIn(answer).every((status) => [200, 400, 413].includes(status)), answer);
    assert.deepEqual(await dump(purser.core.store), before);
    await checkHealth(name);
  });
}

/** Clients that disconnect, by what they have sent. */
const LEFT: Record<string, string> = {
  "nothing": "",
  "half of a request line": "POST /cos",
  "half of a head": "POST /costs/events HTTP/1.1\r\nHost: loc",
  "a head": post("Content-Length: 500", ""),
  "half of a body": post("Content-Length: 500"),
  "half of a chunk": chunked("5\r\n[]"),
  "half of a chunk's size": chunked("5"),
  "a request": get("GET /agents HTTP/1.1"),
  "a request for a large response": get("GET /openapi.json HTTP/1.1"),
  "a request for an endless response": get("GET /events HTTP/1.1"),
  "many requests": "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(10),
};

for (const [name, text] of Object.entries(LEFT)) {
  Deno.test(`a client that disconnects after ${name} leaves nothing behind`, async () => {
    const before = await dump(purser.core.store);
    for (let i = 0; i < 3; i++) (await connect(text)).close();
    await checkHealth(name);
    assert.deepEqual(await dump(purser.core.store), before);
  });
}

/** Clients that stop and stay, by what they have sent, with the seconds after which they are disconnected. */
const STOPPED: Record<string, [text: string, seconds: number]> = {
  "nothing": ["", 20],
  "half of a request line": ["POST /cos", 20],
  "half of a head": ["POST /costs/events HTTP/1.1\r\nHost: loc", 20],
  "a head": [post("Content-Length: 5000", ""), 60],
  "half of a body": [post("Content-Length: 5000"), 60],
  "half of a chunk": [chunked("5\r\n[]"), 60],
  "a request that was answered": ["GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 130],
};

for (const [name, [text, seconds]] of Object.entries(STOPPED)) {
  Deno.test(`a client that stops after ${name} is disconnected in ${seconds} s, while others are answered`, async () => {
    const books = async () => ({ ...await dump(purser.core.store), audit_entries: [] }); // but for the prices in use
    const before = await books();
    using connection = await connect(text);
    let isOpen = true;
    const reading = readAll(connection).finally(() => isOpen = false);
    for (let passed = 0; passed < seconds && isOpen; passed++) {
      purser.clock.advance(1_000);
      await checkHealth(name);
    }
    const answer = await reading;
    assert.deepEqual(await books(), before);
    assert.ok(statusesIn(answer).every((status) => [200, 400, 408].includes(status)), answer);
  });
}
