import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { fixedClock } from "../../kernel/clock.ts";
import { addressKey } from "./client_address.ts";
import { DEFAULT_LIMITS, maxConnections } from "./connection_limits.ts";
import { Connections, type Exchange } from "./connections.ts";

class FakeSocket extends EventEmitter {
  bytesRead = 0;
  bytesWritten = 0;
  writableLength = 0;
  isClosed = false;
  constructor(readonly remoteAddress: string) {
    super();
  }
  destroy() {
    if (this.isClosed) return;
    this.isClosed = true;
    this.emit("close");
  }
  destroySoon() {
    this.destroy();
  }
}

/** Connections with their clock; `open()` returns a socket and, where it was admitted, its connection. */
function setUp(limits: Partial<Connections["limits"]> = {}) {
  const clock = fixedClock(0);
  const timeouts: string[] = [];
  const connections = new Connections(
    { ...DEFAULT_LIMITS, connections: 3, perAddress: 2, ...limits },
    () => clock.monotonic(),
    ({ socket }, reason) => {
      timeouts.push(reason);
      socket.destroy();
    },
  );
  const open = (address = "192.0.2.1", options = {}) => {
    const socket = new FakeSocket(address);
    const connection = connections.open(socket as unknown as Socket, options);
    return { socket, connection: connection!, isAdmitted: connection !== undefined };
  };
  const pass = (ms: number) => {
    clock.advance(ms);
    connections.sweep();
  };
  return { connections, open, pass, timeouts };
}

function exchange({ complete = true, readableLength = 0, bodyBytes = (): number => 0 } = {}): Exchange {
  const incoming = { complete, readableLength, readableHighWaterMark: 64 * 1024, resume() {} };
  return { incoming, outgoing: {}, refuse() {}, breakBody() {}, bodyBytes } as unknown as Exchange;
}

Deno.test("at the limit, the longest idle connection is closed in favor of a new one", () => {
  const { connections, open, pass } = setUp();
  const first = open("192.0.2.1");
  pass(1_000);
  const second = open("192.0.2.2");
  const third = open("192.0.2.3");
  const request = exchange();
  connections.begin(first.connection, request);
  connections.end(first.connection, request);
  const fourth = open("192.0.2.4");
  assert.deepEqual([first, second, third, fourth].map(({ socket }) => socket.isClosed), [
    false,
    true,
    false,
    false,
  ]);
  assert.equal(connections.size, 3);
});

Deno.test("at the limit, a connection is refused if all others have requests in flight", () => {
  const { connections, open } = setUp();
  for (const host of [1, 2, 3]) connections.begin(open(`192.0.2.${host}`).connection, exchange());
  assert.equal(open("192.0.2.4").isAdmitted, false);
  assert.equal(open("192.0.2.4", { isProbe: true }).isAdmitted, true);
  assert.equal(open("192.0.2.4", { isTrusted: true }).isAdmitted, true); // in favor of the probe
  assert.equal(connections.size, 4);
});

Deno.test("at the limit without idle connections, the one whose body arrives most slowly is closed", () => {
  const { connections, open, pass } = setUp();
  const [answering, slow, slower] = [open("192.0.2.1"), open("192.0.2.2"), open("192.0.2.3")];
  connections.begin(answering.connection, exchange());
  for (const { connection } of [slow, slower]) connections.begin(connection, exchange({ complete: false }));
  pass(1_000);
  assert.equal(open("192.0.2.4").isAdmitted, false, "both are new");
  slow.socket.bytesRead = 5_000;
  slower.socket.bytesRead = 3_000;
  pass(1_000);
  assert.equal(open("192.0.2.4").isAdmitted, true);
  assert.deepEqual([answering, slow, slower].map(({ socket }) => socket.isClosed), [false, false, true]);
});

Deno.test("an address has its own limit, at which only its own connections are closed", () => {
  const { connections, open } = setUp({ connections: 10 });
  const other = open("192.0.2.9");
  const [first, second] = [open(), open()];
  assert.equal(open().isAdmitted, true);
  assert.deepEqual([other, first, second].map(({ socket }) => socket.isClosed), [false, true, false]);
  for (const { connection } of [second]) connections.begin(connection, exchange());
  assert.equal(open().isAdmitted, true);
  assert.equal(connections.size, 3);
});

Deno.test("an IPv6 client is its /64 network, an IPv4 client its address, and a trusted proxy has no limit of its own", () => {
  const { open } = setUp({ perAddress: 1, connections: 10 });
  const first = open("2001:db8:0:1::1");
  assert.equal(open("2001:db8:0:1:ffff::2").isAdmitted && first.socket.isClosed, true);
  assert.equal(addressKey("2001:db8::1"), addressKey("2001:db8:0:0:1:2:3:4"));
  assert.notEqual(addressKey("2001:db8::1"), addressKey("2001:db8:0:1::1"));
  assert.equal(addressKey("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(addressKey("fe80::1%eth0"), addressKey("fe80::2"));
  const proxied = [open("192.0.2.7", { isTrusted: true }), open("192.0.2.7", { isTrusted: true })];
  assert.ok(proxied.every(({ socket, isAdmitted }) => isAdmitted && !socket.isClosed));
});

Deno.test("headers that don't arrive in time are refused, counted from the connection's start or their first byte", () => {
  const { connections, open, pass, timeouts } = setUp();
  const silent = open("192.0.2.1");
  const slow = open("192.0.2.2");
  for (let second = 0; second < 14; second++) {
    slow.socket.bytesRead++;
    pass(1_000);
  }
  assert.deepEqual([silent.socket.isClosed, slow.socket.isClosed], [false, false]);
  pass(1_000);
  assert.deepEqual([silent.socket.isClosed, slow.socket.isClosed], [true, true]);

  const used = open("192.0.2.3");
  const request = exchange();
  connections.begin(used.connection, request);
  connections.end(used.connection, request);
  pass(100_000);
  used.socket.bytesRead++; // of the next request
  pass(1_000);
  pass(14_000);
  assert.equal(used.socket.isClosed, false);
  pass(1_000);
  assert.equal(used.socket.isClosed, true);
  assert.deepEqual(timeouts, ["headers", "headers", "headers"]);
});

Deno.test("an idle connection is closed after two minutes, one with a request in flight never", () => {
  const { connections, open, pass } = setUp();
  const [idle, busy] = [open("192.0.2.1"), open("192.0.2.2")];
  const request = exchange();
  connections.begin(idle.connection, request);
  connections.end(idle.connection, request);
  connections.begin(busy.connection, exchange());
  pass(119_000);
  assert.equal(idle.socket.isClosed, false);
  pass(1_000);
  pass(3_600_000);
  assert.deepEqual([idle.socket.isClosed, busy.socket.isClosed], [true, false]);
});

Deno.test("a body must arrive at the minimum rate over each 20 seconds, however much arrived before", () => {
  const { connections, open, pass, timeouts } = setUp({ connections: 10 });
  const [honest, trickle, burst] = [open("192.0.2.1"), open("192.0.2.2"), open("192.0.2.3")];
  for (const { connection, socket } of [honest, trickle, burst]) {
    connections.begin(connection, exchange({ complete: false, bodyBytes: () => socket.bytesRead }));
  }
  burst.socket.bytesRead = 1_000_000;
  for (let second = 0; second < 50; second++) {
    honest.socket.bytesRead += 510;
    trickle.socket.bytesRead += 6;
    pass(1_000);
  }
  assert.deepEqual([honest, trickle, burst].map(({ socket }) => socket.isClosed), [false, true, true]);
  assert.deepEqual(timeouts, ["body", "body"]);
});

Deno.test("a body is not slow while the server doesn't read it, nor is one that has arrived", () => {
  const { connections, open, pass } = setUp();
  const [waiting, whole] = [open("192.0.2.1"), open("192.0.2.2")];
  connections.begin(waiting.connection, exchange({ complete: false, readableLength: 64 * 1024 }));
  connections.begin(whole.connection, exchange());
  for (let second = 0; second < 100; second++) pass(1_000);
  assert.deepEqual([waiting.socket.isClosed, whole.socket.isClosed], [false, false]);
});

Deno.test("far more bytes than headers and body are refused: beside a body, after a request, and before one", () => {
  const { connections, open, pass, timeouts } = setUp({ connections: 10, perAddress: 10 });
  const [small, chunks, sizes, after, before, between] = Array.from({ length: 6 }, () => open());
  connections.begin(small!.connection, exchange({ complete: false, bodyBytes: () => 1_000_000 }));
  connections.begin(chunks!.connection, exchange({ complete: false, bodyBytes: () => 1_000_000 }));
  connections.begin(sizes!.connection, exchange({ complete: false, bodyBytes: () => 1_000_000 }));
  connections.begin(after!.connection, exchange());
  const first = exchange();
  connections.begin(between!.connection, first);
  between!.socket.bytesRead = 5_000_000; // its body
  connections.end(between!.connection, first);
  pass(1_000);
  small!.socket.bytesRead = 1_000_000;
  chunks!.socket.bytesRead = 6_000_000; // chunks of one byte
  for (const { socket } of [after!, before!, between!]) socket.bytesRead += 200_000;
  pass(1_000);
  assert.deepEqual(timeouts, []);
  sizes!.socket.bytesRead = 9_000_000;
  for (const { socket } of [after!, before!, between!]) socket.bytesRead += 200_000;
  pass(1_000);
  assert.deepEqual(timeouts, Array(4).fill("framing"));
  assert.deepEqual([small, chunks].map((one) => one!.socket.isClosed), [false, false]);
});

Deno.test("a response that is not read is abandoned; one that is read slowly is not", () => {
  const { connections, open, pass } = setUp();
  const [unread, slow] = [open("192.0.2.1"), open("192.0.2.2")];
  for (const { connection, socket } of [unread, slow]) {
    connections.begin(connection, exchange());
    socket.bytesWritten = 1_000_000;
    socket.writableLength = 900_000;
  }
  for (let second = 0; second < 29; second++) pass(1_000);
  assert.equal(unread.socket.isClosed, false);
  slow.socket.writableLength--;
  pass(1_000);
  pass(1_000);
  assert.deepEqual([unread.socket.isClosed, slow.socket.isClosed], [true, false]);
});

Deno.test("while the server is shutting down, an unread response is abandoned after two seconds", () => {
  const { connections, open, pass } = setUp();
  const { connection, socket } = open();
  connections.begin(connection, exchange());
  Object.assign(socket, { bytesWritten: 10, writableLength: 10 });
  pass(1_000);
  connections.isDraining = true;
  pass(1_000);
  assert.equal(socket.isClosed, false);
  pass(1_000);
  assert.equal(socket.isClosed, true);
});

Deno.test("requests that are pipelined without end are not begun, and the connection counts as used", () => {
  const { connections, open } = setUp();
  const { connection } = open();
  const begun = Array.from({ length: 40 }, () => connections.begin(connection, exchange()));
  assert.equal(begun.filter(Boolean).length, 32);
});

Deno.test("without a free descriptor half of the idle connections are closed, and fewer are kept from then on", () => {
  const { connections, open } = setUp({ connections: 100, perAddress: 100 });
  const opened = Array.from({ length: 40 }, () => open());
  for (const { connection } of opened.slice(0, 10)) connections.begin(connection, exchange());
  connections.shed();
  assert.equal(opened.filter(({ socket }) => socket.isClosed).length, 15);
  assert.ok(opened.slice(0, 10).every(({ socket }) => !socket.isClosed));
  assert.equal(connections.limits.connections, 30);
});

Deno.test("once connections are accepted again, their number grows back to the setting", () => {
  const { connections } = setUp({ connections: 100 });
  connections.shed();
  assert.equal(connections.limits.connections, 8);
  for (let checks = 0; checks < 12; checks++) connections.recover();
  assert.equal(connections.limits.connections, 100);
});

Deno.test("waiting for the last connection to close ends with it", async () => {
  const { connections, open } = setUp();
  await connections.empty();
  const { socket } = open();
  const emptied = connections.empty();
  socket.destroy();
  await emptied;
});

Deno.test("the default number of connections leaves descriptors for the database, requests and files", () => {
  const limits = (soft: string) =>
    `Limit                     Soft Limit           Hard Limit           Units     
Max open files            ${soft}                 524288               files     
`;
  const figures = [undefined, limits("1024"), limits("300"), limits("524288"), limits("unlimited"), "?"];
  assert.deepEqual(figures.map(maxConnections), [768, 768, 150, 4_096, 4_096, 768]);
});
