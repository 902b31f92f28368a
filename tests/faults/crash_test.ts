import assert from "node:assert/strict";
import { TextLineStream } from "../harness/text_lines.ts";
import { openCore } from "../../src/service/mod.ts";
import { toObjects } from "../../src/store/mod.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { answerTo } from "../harness/answers.ts";
import { checkTotals } from "../harness/check_books.ts";
import { seededRandom } from "../harness/random.ts";

/** The number that the gate has time for; PURSER_KILLS sets more, here and in alert_crash_test. */
const KILLS = Number(Deno.env.get("PURSER_KILLS") ?? 12);
const RUNS = 20 * KILLS;
const STEPS = 20;

interface Acknowledged {
  call_id: string;
  run_id: string;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
}

Deno.test(`${RUNS} runs with ${STEPS} steps, killed ${KILLS} times, neither lose nor repeat an acknowledged call`, async () => {
  const random = seededRandom(2026);
  const directory = await Deno.makeTempDir();
  const db = `${directory}/crash.db`;
  const counted = new Map<number, number>(); // output tokens by input tokens, which no two calls share
  await using provider = await startFakeProvider((request) => {
    const answered = request.body.messages.filter((m: { role: string }) => m.role === "assistant").length;
    const inputTokens = 1_000 + counted.size;
    const outputTokens = 1 + (inputTokens * 7919) % 997;
    counted.set(inputTokens, outputTokens);
    const usage = { inputTokens, outputTokens };
    return answered < STEPS - 1
      ? answerTo(request, {
        toolCall: { id: `call_${inputTokens}`, name: "calculator", input: { expression: "1 + 1" } },
        usage,
      })
      : answerTo(request, { text: "done", usage });
  });

  const acknowledged: Acknowledged[] = [];
  const started = new Set<number>();
  const ended = new Map<number, { status: string; steps: number }>();
  let kills = 0;
  while (started.size < RUNS || kills < KILLS) {
    const first = Math.max(0, ...started) + 1;
    if (first > RUNS) break;
    const worker = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-RWENS",
        "--quiet",
        "tests/faults/crash_worker.ts",
        db,
        provider.baseUrls.compatible,
        `${first}`,
        `${RUNS}`,
      ],
      stdout: "piped",
    }).spawn();
    // The number of calls until the kill spreads the kills over all runs; a kill also cuts runs short.
    const share = 0.8 * (RUNS - first) * STEPS / (KILLS - kills + 1);
    let untilKill = kills < KILLS ? 1 + Math.floor(random() * 2 * share) : Infinity;
    for await (
      const line of worker.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
    ) {
      const said = JSON.parse(line);
      if (said.call) acknowledged.push(said.call);
      if (said.started) started.add(said.started);
      if (said.ended) ended.set(said.ended, said);
      if (said.call && --untilKill === 0) {
        worker.kill("SIGKILL");
        kills++;
      }
    }
    const { success } = await worker.status;
    assert.equal(success, untilKill > 0, "the worker succeeds unless it is killed");
  }

  const core = await openCore({
    config: {
      dbUrl: db,
      durability: "full",
      environment: "test",
      remoteTimeoutMs: 1_000,
      maxBodyBytes: 1_000,
    },
  });
  const read = async <T>(sql: string) => toObjects<T>(await core.store.read({ sql }));
  try {
    const ledger = await read<{ call_id: string; input_tokens: bigint; output_tokens: bigint; cost: bigint }>(
      "SELECT call_id, input_tokens, output_tokens, cost_nano_usd AS cost FROM calls",
    );
    const byId = new Map(ledger.map((row) => [row.call_id, row]));
    for (const call of acknowledged) {
      const row = byId.get(call.call_id);
      assert.ok(row, `acknowledged call ${call.call_id} is in the ledger`);
      assert.equal(Number(row.input_tokens), call.input_tokens);
      assert.equal(counted.get(call.input_tokens), call.output_tokens, "the provider counted it the same");
    }
    assert.equal(
      new Set(ledger.map((row) => row.input_tokens)).size,
      ledger.length,
      "no call is booked twice",
    );
    for (const row of ledger) {
      assert.equal(counted.get(Number(row.input_tokens)), Number(row.output_tokens));
      assert.equal(row.cost, costOf(Number(row.input_tokens), Number(row.output_tokens)));
    }
    const total = ledger.reduce((sum, row) => sum + row.cost, 0n);
    await checkTotals(core.store);
    for (const view of ["run_usage", "session_usage", "total_usage", "daily_usage", "hourly_usage"]) {
      const [sum] = await read<{ cost: bigint; calls: bigint }>(
        `SELECT sum(whole_usd) * 1000000000 + sum(rest_nano_usd) AS cost, sum(model_calls) AS calls FROM ${view}`,
      );
      assert.deepEqual(sum, { cost: total, calls: BigInt(ledger.length) }, `${view} adds up to the ledger`);
    }
    const statuses = Object.fromEntries(
      (await read<{ status: string; n: bigint }>("SELECT status, count(*) AS n FROM runs GROUP BY status"))
        .map(({ status, n }) => [status, Number(n)]),
    );
    assert.deepEqual(Object.keys(statuses).sort(), ["completed", "interrupted"]);
    assert.ok(statuses.completed! >= ended.size, "no run that was reported as ended is lost");
    for (const { status, steps } of ended.values()) {
      assert.deepEqual({ status, steps }, { status: "completed", steps: STEPS });
    }
    const gaps = await read(
      "SELECT session_id FROM events WHERE session_id IS NOT NULL GROUP BY session_id HAVING max(seq) <> count(*) OR min(seq) <> 1",
    );
    assert.deepEqual(gaps, [], "every session's events are numbered without a gap");
    assert.equal(kills, KILLS);
    assert.equal(started.size, RUNS);
    console.log(
      `      ${kills} kills, ${ledger.length} calls booked, ${acknowledged.length} acknowledged, runs: ${
        JSON.stringify(statuses)
      }`,
    );
  } finally {
    await core.close();
    await Deno.remove(directory, { recursive: true });
  }
});

/** 0.37 and 1.9 USD per million tokens, in nano-USD, rounded half to even. */
function costOf(inputTokens: number, outputTokens: number): bigint {
  const pico = BigInt(inputTokens) * 370_000n + BigInt(outputTokens) * 1_900_000n;
  const [whole, rest] = [pico / 1_000n, pico % 1_000n];
  return rest > 500n || (rest === 500n && whole % 2n === 1n) ? whole + 1n : whole;
}
