import assert from "node:assert/strict";
import { replaySteps } from "./replay_steps.ts";
import { selectSteps, type SeqRange } from "./select_steps.ts";
import { event, STORY } from "../_test_events.ts";

const select = (range: SeqRange, events = STORY) => Array.fromAsync(selectSteps(replaySteps(events), range));

Deno.test("selectSteps() keeps the steps with an event in the range, a call's cost included", async () => {
  const cases: [SeqRange, number[]][] = [
    [{}, [1, 2, 3, 5, 6, 7, 9]],
    [{ from: 5, until: 7 }, [5, 6, 7]],
    [{ from: 4, until: 4 }, [3]],
    [{ from: 4 }, [3, 5, 6, 7, 9]],
    [{ until: 2 }, [1, 2]],
    [{ from: 10 }, []],
  ];
  for (const [range, seqs] of cases) {
    assert.deepEqual((await select(range)).map(({ event }) => event.seq), seqs, JSON.stringify(range));
  }
});

Deno.test("selectSteps() leaves sums and times as they are in the whole log", async () => {
  const [step] = await select({ from: 9 });
  assert.equal(step!.soFar.costNanoUsd, 300_000_000n);
  assert.equal(step!.elapsedMs, 65_000);
  assert.equal(step!.sincePreviousMs, 63_590);
});

Deno.test("selectSteps() takes imported history as what comes before seq 1", async () => {
  const imported = [1, 2, 7].map((seq) => event(seq, "old", {}, { imported_from: "production" }));
  const log = [...imported, ...STORY];
  const kept = async (range: SeqRange) =>
    (await select(range, log)).map(({ event }) => [event.type, event.seq]);
  assert.equal((await kept({ until: 1 })).length, 4);
  assert.deepEqual(await kept({ from: 1, until: 2 }), [["session.created", 1], ["run.started", 2]]);
});

Deno.test("selectSteps() counts an event without a seq to the one before it", async () => {
  const log = [event(1, "a"), event(null, "b"), event(2, "c")];
  assert.deepEqual((await select({ until: 1 }, log)).map(({ event }) => event.type), ["a", "b"]);
  assert.deepEqual((await select({ from: 2 }, log)).map(({ event }) => event.type), ["c"]);
});

Deno.test("selectSteps() ends reading where the range ends", async () => {
  let isClosed = false;
  const events = (function* () {
    try {
      yield* STORY;
      assert.fail("read to the end");
    } finally {
      isClosed = true;
    }
  })();
  await Array.fromAsync(selectSteps(replaySteps(events), { until: 3 }));
  assert.ok(isClosed);
});
