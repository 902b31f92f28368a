import assert from "node:assert/strict";
import { openTestPurser } from "../harness/test_purser.ts";
import { cases } from "../harness/thorough.ts";
import { readCalls, sendTo } from "./requests.ts";

/** Requests of which a provider gets only a part: they are larger than the system keeps to send, 4 MiB on Linux. */

const MIB = 1024 * 1024;

/** A peer that reads so many bytes of each connection, and closes it. */
function startClosing(readBytes: number) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const serve = async (connection: Deno.Conn) => {
    const buffer = new Uint8Array(16 * 1024);
    for (let read = 0; read < readBytes;) {
      const more = await connection.read(buffer);
      if (more === null) break;
      read += more;
    }
    connection.close();
  };
  const served = (async () => {
    for await (const connection of listener) void serve(connection);
  })().catch(() => {});
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      listener.close();
      await served;
    },
  };
}

const requestOf = (bytes: number) => ({
  path: "/v1/chat/completions",
  body: {
    model: "gpt-4o-mini",
    max_completion_tokens: 10,
    messages: [{ role: "user", content: "x".repeat(bytes) }],
  },
});

for (const mode of ["stop", "strict"] as const) {
  Deno.test(`requests of which a peer reads 64 KB are not booked; ${mode === "strict" ? "strict holds them" : "stop forgets them"}`, async () => {
    await using peer = startClosing(64 * 1024);
    await using purser = await openTestPurser({
      env: { OPENAI_API_KEY: "not-a-key", OPENAI_BASE_URL: peer.url },
    });
    const { body: { budget_id } } = await purser.api("POST", "/budgets", {
      ...{ name: "Day", per: "day", limit_usd: 100, mode },
    });
    const requests = cases(4);
    for (let request = 0; request < requests; request++) {
      const response = await sendTo(purser, requestOf(request % 2 === 0 ? 6 * MIB : 7 * MIB));
      assert.equal(response.status, 502, await response.text());
      assert.equal(response.headers.get("x-purser-call-id"), null, "nothing is booked");
    }
    assert.deepEqual(await readCalls(purser), []);
    const { body: budget } = await purser.api("GET", `/budgets/${budget_id}`);
    const { spent_usd, reserved_usd, held_usd, holds } = budget;
    assert.equal(spent_usd, 0);
    assert.equal(reserved_usd, held_usd ?? 0);
    if (mode === "stop") return assert.deepEqual([held_usd, holds], [undefined, undefined]);
    assert.equal(holds.length, requests);
    assert.deepEqual(new Set(holds.map(({ reason }: { reason: string }) => reason)), new Set(["uncounted"]));
    // Each of its bytes, and 1,024, may be a token of 0.15 USD a million.
    assert.ok(held_usd > requests / 2 * (6 + 7) * MIB * 0.15e-6, `${held_usd}`);
    const { status, body: release } = await purser.api("POST", `/budgets/${budget_id}/releases`, {
      reason: "the peer has read 64 KB",
    });
    assert.deepEqual([status, release.reservation_ids.length, release.released_usd], [
      201,
      requests,
      held_usd,
    ]);
    assert.equal((await purser.api("GET", `/budgets/${budget_id}`)).body.reserved_usd, 0);
  });
}
