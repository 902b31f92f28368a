import assert from "node:assert/strict";
import { registerTest } from "./_test_runner.ts";
import { type Behaviour, readRequest, startReceiver } from "./_receiver.ts";
import { addressOf, assertFailure, openBench, type Subject, TIMEOUT_MS } from "./_test_bench.ts";

/** Every failure of the network is retryable, and none takes longer than the timeout. */
export function testFaults(subject: Subject): void {
  const { kind } = subject;

  registerTest(`${kind}: a refused connection is retryable`, async () => {
    const gone = await startReceiver(() => {});
    await gone[Symbol.asyncDispose]();
    await using bench = openBench(subject, { address: addressOf(gone.port) });
    assertFailure(await bench.attempt(), { retry: true, says: /refused/ });
  });

  registerTest(`${kind}: a connection that is reset or closed without a response is retryable`, async () => {
    // Closed with unread bytes, which resets it, or after a whole request; SMTP clients send nothing first.
    const behaviours: Behaviour[] = [() => {}];
    if (subject.reaches === "http") behaviours.push(async (connection) => void await readRequest(connection));
    for (const behave of behaviours) {
      await using receiver = await startReceiver(behave);
      await using bench = openBench(subject, { address: addressOf(receiver.port) });
      assertFailure(await bench.attempt(), { retry: true });
    }
  });

  registerTest(`${kind}: a host unknown to DNS is retryable`, async () => {
    await using bench = openBench(subject, { address: addressOf(443, { host: "gone.example" }) });
    assertFailure(await bench.attempt(), { retry: true, says: /DNS/ });
  });

  registerTest(`${kind}: a failed TLS handshake is retryable`, async () => {
    await using receiver = await startReceiver(async (connection) => {
      await connection.read();
      await connection.write("220 this is not TLS\r\n");
    });
    await using bench = openBench(subject, { address: addressOf(receiver.port, { isTls: true }) });
    assertFailure(await bench.attempt(), { retry: true });
  });

  registerTest(
    `${kind}: a receiver that never responds times out, and its connection is closed`,
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

  registerTest(`${kind}: a response that trickles in times out`, async () => {
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
