import assert from "node:assert/strict";
import { STATUS_CODES } from "node:http";
import { registerTest } from "./_test_runner.ts";
import { type Answer, startHttpReceiver } from "./_receiver.ts";
import { addressOf, assertFailure, openBench, START, type Subject } from "./_test_bench.ts";

const RETRYABLE = [408, 425, 429];

/** The statuses that have a name, and the last of each class. */
const STATUSES = [299, 399, 499, 599, ...Object.keys(STATUS_CODES).map(Number)].filter((one) => one >= 200);

/** Every channel maps HTTP statuses to the same results. */
export function testStatuses(subject: Subject): void {
  const { kind } = subject;

  registerTest(
    `${kind}: every HTTP status is a success, a retryable or a permanent failure`,
    async () => {
      let answer: Answer = { status: 200 };
      await using receiver = await startHttpReceiver(() => answer);
      await using bench = openBench(subject, { address: addressOf(receiver.port) });
      for (const status of STATUSES) {
        // A receiver that echoes secrets, and redirects.
        answer = {
          status,
          headers: { location: `http://127.0.0.1:${receiver.port}/elsewhere` },
          body: `You sent ${subject.secrets.join(" ")}`,
        };
        const result = await bench.attempt();
        const special = subject.statuses?.[status];
        if (status < 300 && !special) assert.deepEqual(result, { ok: true }, String(status));
        else {
          const retry = special ? special === "retried" : RETRYABLE.includes(status) || status >= 500;
          assertFailure(result, { retry, says: new RegExp(`\\b${status}\\b`) });
        }
      }
      assert.equal(
        receiver.requests.length,
        STATUSES.length,
        "one request for each, and no redirect followed",
      );
      assert.ok(receiver.requests.every(({ method }) => method === "POST"));
    },
  );

  registerTest(`${kind}: Retry-After is honored, in seconds or as a date, up to an hour`, async () => {
    let answer: Answer = { status: 429 };
    await using receiver = await startHttpReceiver(() => answer);
    await using bench = openBench(subject, { address: addressOf(receiver.port) });
    const cases: [string, number | undefined][] = [
      ["7", 7_000],
      ["0", 0],
      ["86400", 3_600_000],
      ["9".repeat(30), 3_600_000],
      [new Date(START + 90_000).toUTCString(), 90_000],
      [new Date(START - 90_000).toUTCString(), undefined],
      ["-5", undefined],
      ["soon", undefined],
    ];
    for (const status of [429, 503]) {
      for (const [value, expected] of cases) {
        answer = { status, headers: { "retry-after": value } };
        const result = await bench.attempt();
        assertFailure(result, { retry: true });
        assert.equal((result as { retryAfterMs?: number }).retryAfterMs, expected, value);
      }
    }
  });

  registerTest(`${kind}: a response of many megabytes is not read to its end`, async () => {
    await using receiver = await startHttpReceiver(() => ({
      status: 500,
      body: "x".repeat(8 * 1024 * 1024),
    }));
    await using bench = openBench(subject, { address: addressOf(receiver.port) });
    assertFailure(await bench.attempt(), { retry: true, says: /500/ });
  });
}
