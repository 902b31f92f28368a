import assert from "node:assert/strict";
import { registerTest } from "./_test_runner.ts";
import { type Behaviour, readRequest, startReceiver } from "./_receiver.ts";
import { addressOf, assertFailure, openBench, type Subject, TIMEOUT_MS } from "./_test_bench.ts";

/** The network fails in every way; each may pass, none takes longer than the timeout. */
export function testFaults(subject: Subject): void {
  const { kind } = subject;

  registerTest(`${kind}: a refused connection may pass`, async () => {
    const gone = await startReceiver(() => {});
    await gone[Symbol.asyncDispose]();
    await using bench = openBench(subject, { address: addressOf(gone.port) });
    assertFailure(await bench.attempt(), { retry: true, says: /refused/ });
  });

  registerTest(`${kind}: a connection that is reset or closed without an answer may pass`, async () => {
    // Closed with what was sent unread, which resets it, or after it was read; SMTP's client sends nothing first.
    const behaviours: Behaviour[] = [() => {}];
    if (subject.reaches === "http") behaviours.push(async (connection) => void await readRequest(connection));
    for (const behave of behaviours) {
      await using receiver = await startReceiver(behave);
      await using bench = openBench(subject, { address: addressOf(receiver.port) });
      assertFailure(await bench.attempt(), { retry: true });
    }
  });

  registerTest(`${kind}: a host that DNS doesn't know may be known later`, async () => {
    await using bench = openBench(subject, { address: addressOf(443, { host: "gone.example" }) });
    assertFailure(await bench.attempt(), { retry: true, says: /DNS/ });
  });

  registerTest(`${kind}: a TLS handshake that fails may pass`, async () => {
    await using receiver = await startReceiver(async (connection) => {
      await connection.read();
      await connection.write("220 this is not TLS\r\n");
    });
    await using bench = openBench(subject, { address: addressOf(receiver.port, { isTls: true }) });
    assertFailure(await bench.attempt(), { retry: true });
  });

  registerTest(
    `${kind}: a receiver that never answers is left at the timeout, and its connection closed`,
    async () => {
      await using receiver = await startReceiver(async (connection, arrived) => {
        arrived();
        while (await connection.read() !== null);
      });
      await using bench = openBench(subject, { address: addressOf(receiver.port) });
      const [arrival, attempt] = [receiver.arrival(), bench.attempt()];
      await arrival;
      bench.clock.advance(TIMEOUT_MS);
      assertFailure(await attempt, { retry: true, says: /no answer within 5 s/ });
      await receiver.idle();
    },
  );

  registerTest(`${kind}: an answer that comes drop by drop is left at the timeout`, async () => {
    await using receiver = await startReceiver(async (connection, arrived) => {
      if (subject.reaches === "http") {
        await readRequest(connection);
        await connection.write("HTTP/1.1 200 OK\r\n\r\n");
      }
      for (let drop = 1;; drop++) {
        await connection.write(subject.reaches === "http" ? "." : "220-wait\r\n");
        dripping.clock.advance(TIMEOUT_MS / 10);
        if (drop === 10) arrived();
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    await using dripping = openBench(subject, { address: addressOf(receiver.port) });
    assertFailure(await dripping.attempt(), { retry: true, says: /no answer within 5 s/ });
    await receiver.idle();
  });

  registerTest(`${kind}: an attempt ends when its signal aborts, before it or during it`, async () => {
    await using receiver = await startReceiver(async (connection, arrived) => {
      arrived();
      while (await connection.read() !== null);
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
