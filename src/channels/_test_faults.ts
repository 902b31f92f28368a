import assert from "node:assert/strict";
import { type Behaviour, readRequest, startReceiver, writeAll } from "./_receiver.ts";
import { addressOf, assertFailure, openBench, type Subject, TIMEOUT_MS } from "./_test_bench.ts";

/** The network fails in every way; each may pass, none takes longer than the timeout. */
export function testFaults(subject: Subject): void {
  const { kind } = subject;

  Deno.test(`${kind}: a refused connection may pass`, async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr;
    listener.close();
    await using bench = openBench(subject, { address: addressOf(port) });
    assertFailure(await bench.attempt(), { retry: true, says: /refused/ });
  });

  Deno.test(`${kind}: a connection that is reset or closed without an answer may pass`, async () => {
    // Closed with what was sent unread, which resets it, or after it was read; SMTP's client sends nothing first.
    const behaviours: Behaviour[] = [() => {}];
    if (subject.reaches === "http") behaviours.push(async (connection) => void await readRequest(connection));
    for (const behave of behaviours) {
      await using receiver = startReceiver(behave);
      await using bench = openBench(subject, { address: addressOf(receiver.port) });
      assertFailure(await bench.attempt(), { retry: true });
    }
  });

  Deno.test(`${kind}: a host that DNS doesn't know may be known later`, async () => {
    await using bench = openBench(subject, { address: addressOf(443, { host: "gone.example" }) });
    assertFailure(await bench.attempt(), { retry: true, says: /DNS/ });
  });

  Deno.test(`${kind}: a TLS handshake that fails may pass`, async () => {
    await using receiver = startReceiver(async (connection) => {
      await connection.read(new Uint8Array(1024));
      await writeAll(connection, "220 this is not TLS\r\n");
    });
    await using bench = openBench(subject, { address: addressOf(receiver.port, { isTls: true }) });
    assertFailure(await bench.attempt(), { retry: true });
  });

  Deno.test(`${kind}: a receiver that never answers is left at the timeout, and its connection closed`, async () => {
    await using receiver = startReceiver(async (connection, arrived) => {
      arrived();
      while (await connection.read(new Uint8Array(1024)) !== null);
    });
    await using bench = openBench(subject, { address: addressOf(receiver.port) });
    const [arrival, attempt] = [receiver.arrival(), bench.attempt()];
    await arrival;
    bench.clock.advance(TIMEOUT_MS);
    assertFailure(await attempt, { retry: true, says: /no answer within 5 s/ });
    await receiver.idle();
  });

  Deno.test(`${kind}: an answer that comes drop by drop is left at the timeout`, async () => {
    await using receiver = startReceiver(async (connection, arrived) => {
      if (subject.reaches === "http") {
        await readRequest(connection);
        await writeAll(connection, "HTTP/1.1 200 OK\r\n\r\n");
      }
      for (let drop = 1;; drop++) {
        await writeAll(connection, subject.reaches === "http" ? "." : "220-wait\r\n");
        dripping.clock.advance(TIMEOUT_MS / 10);
        if (drop === 10) arrived();
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    await using dripping = openBench(subject, { address: addressOf(receiver.port) });
    assertFailure(await dripping.attempt(), { retry: true, says: /no answer within 5 s/ });
    await receiver.idle();
  });

  Deno.test(`${kind}: an attempt ends when its signal aborts, before it or during it`, async () => {
    await using receiver = startReceiver(async (connection, arrived) => {
      arrived();
      while (await connection.read(new Uint8Array(1024)) !== null);
    });
    await using bench = openBench(subject, { address: addressOf(receiver.port) });
    const early = await bench.attempt({ delivery: { signal: AbortSignal.abort() } });
    assertFailure(early, { retry: true });
    assert.equal(receiver.connections, 0);
    const stop = new AbortController();
    const [arrival, attempt] = [
      receiver.arrival(),
      bench.attempt({ delivery: { signal: stop.signal } }),
    ];
    await arrival;
    stop.abort();
    assertFailure(await attempt, { retry: true, says: /stopped/ });
    await receiver.idle();
  });
}
