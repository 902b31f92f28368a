import assert from "node:assert/strict";
import fc from "../packages/fast_check.ts";
import { type PlanOrigin, planQuotaEnded, readPlanWindows, recordPlanWindows } from "../../src/plans/mod.ts";
import { mergeAccounts } from "../../src/plans/merge_accounts.ts";
import type { PlanWindow } from "../../src/plans/sources/mod.ts";
import { bookingTests, unchecked } from "../harness/booking_tests.ts";
import { dialectKinds } from "../harness/databases.ts";
import { eagerClock } from "../harness/eager_clock.ts";

/** The latest measurement of each window of a plan, in whatever order measurements come. */

const NOW = Date.parse("2026-11-27T12:00:00Z");
const HOUR = 3_600_000;
const LOG: PlanOrigin = { agent: "codex", source: "log", owner: { machine: "laptop" } };
const LINE: PlanOrigin = { agent: "claude-code", source: "statusline", owner: { machine: "laptop" } };
const GATEWAY: PlanOrigin = {
  agent: "claude-code",
  source: "gateway",
  owner: { provider: "anthropic" },
  account: "org_1",
  caller: { keyId: "key_1", model: "claude-opus-5" },
};
const five = (usedPercent: number, more: Partial<PlanWindow> = {}): PlanWindow => ({
  window: "five_hour",
  usedPercent,
  resetsAt: NOW + 2 * HOUR,
  ...more,
});

for (const kind of dialectKinds()) {
  const test = bookingTests(kind, { clock: () => eagerClock(NOW), check: unchecked });

  test("a window doesn't end later than its length from now: a nonsense time stops calls for minutes, and a true one follows", async (ctx) => {
    const lengthMs = 5 * HOUR;
    await recordPlanWindows(ctx, LINE, [five(100, { resetsAt: NOW + 24 * HOUR, lengthMs })], NOW);
    assert.equal((await readPlanWindows(ctx))[0]?.resetsAt, null);
    assert.ok(await planQuotaEnded(ctx, {}, NOW));
    assert.equal(await planQuotaEnded(ctx, {}, NOW + 6 * 60_000), undefined);
    await recordPlanWindows(ctx, LINE, [five(20, { lengthMs })], NOW + 60_000);
    assert.equal((await readPlanWindows(ctx))[0]?.usedPercent, 20);
    await recordPlanWindows(ctx, LOG, [five(100, { resetsAt: NOW + 99 * 24 * HOUR, measuredAt: NOW })], NOW);
    assert.equal((await readPlanWindows(ctx, { agent: "codex" }))[0]?.resetsAt, null);
  });

  test("each window keeps its latest measurement, and an older one changes nothing", async (ctx) => {
    const record = (windows: PlanWindow[]) => recordPlanWindows(ctx, LOG, windows, NOW);
    await record([five(10, { measuredAt: NOW - 60_000, plan: "plus" }), {
      window: "credits",
      measuredAt: NOW,
      credits: { hasCredits: true },
    }]);
    await record([five(8, { measuredAt: NOW - 120_000 })]);
    await record([five(99, { measuredAt: NOW + 6 * 60_000 })]); // its clock is ahead
    const [window, credits, ...others] = await readPlanWindows(ctx);
    assert.deepEqual(others, []);
    assert.equal(credits?.usedPercent, null);
    assert.deepEqual(credits?.credits, { hasCredits: true });
    assert.deepEqual(window, {
      agent: "codex",
      source: "log",
      owner: { machine: "laptop" },
      reporterKeyId: "",
      window: "five_hour",
      usedPercent: 10,
      resetsAt: NOW + 2 * HOUR,
      measuredAt: NOW - 60_000,
      plan: "plus",
    });
    await record([five(3, { measuredAt: NOW, resetsAt: NOW + 7 * HOUR })]);
    const [after] = await readPlanWindows(ctx, { agent: "codex" });
    assert.deepEqual([after?.usedPercent, after?.resetsAt], [3, NOW + 7 * HOUR]);
    assert.deepEqual(await readPlanWindows(ctx, { reporterKeyId: "key_2" }), []);
  });

  test("an idle session that repeats its last figures changes nothing, and the same figure keeps its time", async (ctx) => {
    const say = (window: PlanWindow, at: number) => recordPlanWindows(ctx, LINE, [window], at);
    const shown = async () => {
      const [window] = await readPlanWindows(ctx);
      return [window?.usedPercent, window?.measuredAt];
    };
    await say(five(40), NOW);
    await say(five(40), NOW + 60_000);
    await say(five(12), NOW + 120_000);
    assert.deepEqual(await shown(), [40, NOW]);
    await say(five(41), NOW + 180_000);
    assert.deepEqual(await shown(), [41, NOW + 180_000]);
    await say(five(2, { resetsAt: NOW + 8 * HOUR }), NOW + 4 * HOUR);
    await say(five(90), NOW + 4 * HOUR + 1);
    assert.deepEqual(await shown(), [2, NOW + 4 * HOUR]);
  });

  test("reports of a key are apart from those of others and from what is measured here", async (ctx) => {
    for (const reporterKeyId of [undefined, "key_1", "key_2"]) {
      await recordPlanWindows(
        ctx,
        { ...LINE, reporterKeyId },
        [five(reporterKeyId === undefined ? 5 : 100)],
        NOW,
      );
    }
    const windows = await readPlanWindows(ctx);
    assert.deepEqual(windows.map(({ reporterKeyId, usedPercent }) => [reporterKeyId, usedPercent]), [
      ["", 5],
      ["key_1", 100],
      ["key_2", 100],
    ]);
  });

  test("machines with the same account share a plan; those of another or an unknown one, and a gateway, are apart", async (ctx) => {
    const on = (machine: string, account?: string, more: Partial<PlanOrigin> = {}): PlanOrigin => ({
      ...LOG,
      owner: { machine },
      account,
      ...more,
    });
    const record = (origin: PlanOrigin, used: number, ago: number) =>
      recordPlanWindows(ctx, origin, [five(used, { measuredAt: NOW - ago })], NOW);
    await record(on("laptop", "org/anna"), 100, 60_000);
    await record(on("desktop", "org/anna", { reporterKeyId: "key_1" }), 30, 30_000);
    await record(on("phone", "org/bob"), 40, 0);
    await record(on("attic"), 50, 0);
    await record(on("cellar"), 60, 0);
    await record({ ...GATEWAY, agent: "codex", account: "org/anna" }, 70, 0);
    const merged = mergeAccounts(await readPlanWindows(ctx));
    const machinesOf = ({ machines }: typeof merged[number]) =>
      machines.map(({ owner }) => "machine" in owner ? owner.machine : owner.provider).sort().join();
    assert.deepEqual(merged.map((window) => [machinesOf(window), window.usedPercent]).sort(), [
      ["anthropic", 70],
      ["attic", 50],
      ["cellar", 60],
      ["desktop,laptop", 30],
      ["phone", 40],
    ]);
    const quotaOf = (machine: string) => planQuotaEnded(ctx, { agent: "codex", owner: { machine } }, NOW);
    assert.equal(await quotaOf("laptop"), undefined); // the desktop has measured that it has reset since
    await record(on("desktop", "org/anna", { reporterKeyId: "key_1" }), 100, 10_000);
    assert.ok(await quotaOf("laptop"));
    assert.equal(await quotaOf("phone"), undefined);

    // A status line may repeat an old figure: the higher use is later, and a reset is later still.
    const line = (machine: string, used: number, resetsAt: number) =>
      recordPlanWindows(
        ctx,
        { ...LINE, owner: { machine }, account: "org/anna" },
        [five(used, { resetsAt })],
        NOW,
      );
    const used = async () =>
      mergeAccounts(await readPlanWindows(ctx, { agent: "claude-code" })).map(({ usedPercent }) =>
        usedPercent
      );
    await line("laptop", 20, NOW + HOUR);
    await line("desktop", 10, NOW + HOUR + 2_000);
    assert.deepEqual(await used(), [20]);
    await line("desktop", 1, NOW + 6 * HOUR);
    assert.deepEqual(await used(), [1]);
  });

  test("a key has room for so many windows, of which each is still updated, and old ones are removed", async (ctx) => {
    const origin = { ...LOG, reporterKeyId: "key_1" };
    const many = Array.from(
      { length: 1_000 },
      (_, index) => five(1, { window: `w${index}`, measuredAt: NOW - 1 }),
    );
    await recordPlanWindows(ctx, origin, many, NOW);
    await recordPlanWindows(ctx, origin, [
      five(5, { window: "w7", measuredAt: NOW }),
      five(5, { measuredAt: NOW }),
    ], NOW);
    await recordPlanWindows(ctx, { ...origin, reporterKeyId: "key_2" }, [five(5, { measuredAt: NOW })], NOW);
    const windows = await readPlanWindows(ctx);
    assert.equal(windows.length, 1_001);
    assert.deepEqual(windows.filter(({ usedPercent }) => usedPercent === 5).map(({ window }) => window), [
      "w7",
      "five_hour",
    ]);
    const later = NOW + 63 * 24 * HOUR;
    await recordPlanWindows(ctx, LOG, [five(9, { measuredAt: later })], later);
    assert.deepEqual((await readPlanWindows(ctx)).map(({ usedPercent }) => usedPercent), [9]);
  });

  test("a plan's quota has ended by its status or its use, until its window resets", async (ctx) => {
    const ended = async (model?: string, at = NOW) =>
      (await planQuotaEnded(ctx, { reporterKeyId: "", owner: GATEWAY.owner, model }, at))?.message;
    const say = (...windows: PlanWindow[]) =>
      recordPlanWindows(ctx, GATEWAY, windows.map((window) => ({ measuredAt: NOW, ...window })), NOW);
    assert.equal(await ended(), undefined);
    await say(five(99.5, { status: "allowed_warning" }), {
      window: "credits",
      status: "rejected",
      usedPercent: 105,
    });
    assert.equal(await ended("claude-opus-5"), undefined);
    await say({ window: "seven_day_opus", status: "rejected", resetsAt: NOW + 30 * HOUR });
    assert.equal(await ended("claude-sonnet-5"), undefined);
    assert.match(
      await ended("claude-opus-6") ?? "",
      /^the seven_day_opus window of the claude-code plan is used up until/,
    );
    await say(five(100, { measuredAt: NOW + 1 }));
    assert.equal(
      await ended("claude-sonnet-5"),
      "the five_hour window of the claude-code plan is used up (100%) until 2026-11-27T14:00:00.000Z",
    );
    assert.equal(await ended("claude-sonnet-5", NOW + 2 * HOUR), undefined);
    await say({ window: "unified", status: "overage", resetsAt: undefined });
    assert.match(await ended(undefined, NOW + 2 * HOUR - 1) ?? "", /five_hour/);
    assert.match(await ended(undefined, NOW + 60_000) ?? "", /used up/);
    assert.equal(await ended(undefined, NOW + 2 * HOUR), undefined);
  });

  test("the end state is the same in every order, also if measurements come again", async (ctx) => {
    const measurement = fc.record({
      usedPercent: fc.constantFrom(0, 5, 100),
      resetsAt: fc.constantFrom(undefined, NOW + HOUR, NOW + 6 * HOUR),
      measuredAt: fc.constantFrom(NOW - 2, NOW - 1, NOW),
      status: fc.constantFrom("allowed", "rejected"),
    });
    let owner = 0;
    const endOf = async (origin: PlanOrigin, windows: PlanWindow[], isTimed: boolean) => {
      const own = { ...origin, owner: { machine: `m${owner++}` } };
      for (const { measuredAt, ...window } of windows) {
        const said = isTimed ? { ...window, measuredAt } : window;
        await recordPlanWindows(ctx, own, [said], measuredAt!);
      }
      const isOwn = (owner: PlanOrigin["owner"]) => JSON.stringify(owner) === JSON.stringify(own.owner);
      const end = (await readPlanWindows(ctx)).find(({ owner }) => isOwn(owner));
      return { ...end, owner: null };
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(measurement, { minLength: 2, maxLength: 5 }).chain((all) =>
          fc.tuple(fc.constant(all), fc.shuffledSubarray([...all, ...all], { minLength: all.length * 2 }))
        ),
        fc.boolean(),
        async ([all, shuffled], isTimed) => {
          const named = (list: typeof all) =>
            list.map((each) => ({ window: "five_hour", ...each, ...!isTimed && { status: undefined } }));
          const [a, b] = [
            await endOf(LOG, named(all), isTimed),
            await endOf(LOG, named(shuffled), isTimed),
          ];
          assert.deepEqual(a, b);
        },
      ),
      { numRuns: kind.name === "file" ? 60 : 15 },
    );
  });
}
