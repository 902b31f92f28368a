import assert from "node:assert/strict";
import { exampleOf, openHostileService } from "./service.ts";

/**
 * Requests that a web page makes a browser send to a service without keys, on this machine. Every route must refuse them
 * by the headers that a page can't set; a page that could read or change anything could spend money.
 */

const HOST = "localhost:8420";
const VISIT = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
const FRAME = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" };

/** The headers that a browser sends with a request of a page of another site, by the way in which the page made it. */
const FOREIGN: Record<string, Record<string, string>> = {
  "fetch() with CORS": {
    host: HOST,
    origin: "https://evil.example",
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "cors",
  },
  "fetch() without CORS": {
    host: HOST,
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "no-cors",
    "sec-fetch-dest": "empty",
  },
  "an old browser's fetch()": { host: HOST, origin: "https://evil.example" },
  "a page of another port": { host: HOST, origin: "http://localhost:3000", "sec-fetch-site": "same-site" },
  "a page of the same name with TLS": { host: HOST, origin: `https://${HOST}` },
  "a sandboxed page or a file": { host: HOST, origin: "null" },
  "an image": {
    host: HOST,
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "no-cors",
    "sec-fetch-dest": "image",
  },
  "a script": {
    host: HOST,
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "no-cors",
    "sec-fetch-dest": "script",
  },
  "a stylesheet of the same site": { host: HOST, "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" },
  "a frame": { host: HOST, "sec-fetch-site": "cross-site", ...FRAME },
  "a WebSocket": {
    host: HOST,
    origin: "https://evil.example",
    "sec-fetch-mode": "websocket",
    upgrade: "websocket",
  },
  "an EventSource": { host: HOST, origin: "https://evil.example", accept: "text/event-stream" },
  "a name that was bound to this machine": { host: "evil.example:8420", "sec-fetch-site": "same-origin" },
  "such a name, by an old browser": { host: "evil.example" },
  "such a name that begins like this machine": { host: "localhost.evil.example" },
  "such a name that begins like its address": { host: "127.0.0.1.nip.io:8420" },
  "such a name for every address": { host: "0.0.0.0:8420" },
  "a page of such a name": {
    host: "evil.example:8420",
    origin: "http://evil.example:8420",
    "sec-fetch-site": "same-origin",
  },
  "a proxy": { host: HOST, "x-forwarded-for": "192.0.2.1" },
  "a proxy of this machine": { host: HOST, forwarded: "for=127.0.0.1" },
};

Deno.test("no request of a web page is answered by a service without keys, on any route", async (t) => {
  await using service = await openHostileService({ hasKeys: false });
  const from = "127.0.0.1";
  for (const [name, headers] of Object.entries(FOREIGN)) {
    await t.step(name, async () => {
      for (const operation of service.operations) {
        const { route, method } = operation;
        const target = service.pathOf(operation);
        const body = exampleOf(operation);
        const types = body === undefined ? [undefined] : ["application/json", "text/plain"];
        for (const type of types) {
          const sent = { ...headers, ...(type && { "content-type": type }) };
          // A refusal after which the database is another fails in `send`.
          const { status, text } = await service.send({ method, target, body, headers: sent, from });
          assert.equal(status, 403, `${route}: ${text.slice(0, 500)}`);
        }
        const preflight = {
          ...headers,
          "access-control-request-method": method,
          "access-control-request-private-network": "true",
        };
        const { status } = await service.send({ method: "OPTIONS", target, headers: preflight, from });
        assert.equal(status, 403, `the preflight of ${route}`);
      }
    });
  }
  service.checkLog();
});

Deno.test("a link to a service without keys is followed, and changes nothing", async () => {
  await using service = await openHostileService({ hasKeys: false });
  const headers = { host: HOST, "sec-fetch-site": "cross-site", ...VISIT };
  for (const operation of service.operations) {
    const { route, method } = operation;
    const request = { target: service.pathOf(operation), headers, from: "127.0.0.1" };
    const { status } = await service.send({ method, body: exampleOf(operation), ...request });
    assert.equal(status === 403, method !== "GET", `${route}: ${status}`);
  }
  service.checkLog();
});

Deno.test("the own pages of a service without keys are answered, and programs of this machine", async () => {
  await using service = await openHostileService({ hasKeys: false });
  const own: Record<string, string>[] = [
    { host: HOST },
    { host: HOST, origin: `http://${HOST}`, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" },
    { host: "127.0.0.1:1", "sec-fetch-site": "none", ...VISIT },
    { host: "[::1]:8420" },
  ];
  for (const headers of own) {
    for (const operation of service.operations.filter(({ method }) => method === "GET")) {
      const request = { method: "GET", target: service.pathOf(operation), headers, from: "::ffff:127.0.0.1" };
      const { status } = await service.send(request);
      assert.notEqual(status, 403, `${operation.route} ${JSON.stringify(headers)}`);
    }
  }
});

Deno.test("no other machine is answered by a service without keys, whatever its headers say", async () => {
  await using service = await openHostileService({ hasKeys: false });
  const claims: Record<string, string>[] = [{ host: HOST }, { host: HOST, "x-real-ip": "127.0.0.1" }, {
    host: HOST,
    via: "1.1 localhost",
  }];
  for (const operation of service.operations) {
    for (const from of ["192.0.2.1", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1", "127.0.0.1.example", ""]) {
      for (const headers of claims) {
        const target = service.pathOf(operation);
        const body = exampleOf(operation);
        const { status } = await service.send({ method: operation.method, target, body, headers, from });
        assert.equal(status, 403, `${operation.route} from ${from}`);
      }
    }
  }
  service.checkLog();
});

Deno.test("with keys, no header of a browser or a proxy takes the place of a key, and no response is for another origin", async () => {
  await using service = await openHostileService();
  for (const operation of service.operations) {
    const { route, method, permission: { scopes } } = operation;
    if (scopes === "open") continue;
    for (const headers of [...Object.values(FOREIGN), { host: HOST, cookie: `key=${service.adminKey}` }]) {
      const target = service.pathOf(operation);
      const answer = await service.send({ method, target, headers, key: "", from: "127.0.0.1" });
      assert.equal(answer.status, 401, route);
      if (method !== "GET") continue;
      const query = `${target}?api_key=${service.adminKey}&access_token=${service.adminKey}`;
      assert.equal(
        (await service.send({ method, target: query, headers, key: "", from: "127.0.0.1" })).status,
        401,
      );
    }
  }
  service.checkLog();
});
