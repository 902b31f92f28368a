import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { PurserError } from "../kernel/errors.ts";
import type { ResultSet } from "./store.ts";
import { WriteQueue } from "./write_queue.ts";
import type { SetWriter, WriteUnit } from "./write_unit.ts";

const unit = (name: string): WriteUnit => [{ sql: name }];
const names = (units: readonly WriteUnit[]) => units.map((statements) => statements[0]!.sql);
const resultsOf = (units: readonly WriteUnit[]): ResultSet[][] =>
  units.map((statements) => statements.map(({ sql }) => ({ columns: [sql], rows: [] })));

/** A queue whose commits are decided by the test. */
function createQueue(commit?: (units: readonly WriteUnit[]) => ResultSet[][]) {
  const groups: string[][] = [];
  const pending: PromiseWithResolvers<void>[] = [];
  const queue = new WriteQueue(async (units) => {
    groups.push(names(units));
    if (!commit) {
      const gate = Promise.withResolvers<void>();
      pending.push(gate);
      await gate.promise;
    }
    return (commit ?? resultsOf)(units);
  }, (task) => queueMicrotask(task));
  return { queue, groups, pending };
}

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

Deno.test("WriteQueue commits units that arrive during a commit together in the next one", async () => {
  const { queue, groups, pending } = createQueue();
  const first = queue.push(unit("a"));
  await turn();
  const others = ["b", "c", "d"].map((name) => queue.push(unit(name)));
  await turn();
  assert.deepEqual(groups, [["a"]]);
  pending.shift()!.resolve();
  assert.equal((await first)[0]!.columns[0], "a");
  await turn();
  assert.deepEqual(groups, [["a"], ["b", "c", "d"]]);
  pending.shift()!.resolve();
  assert.deepEqual((await Promise.all(others)).map((results) => results[0]!.columns[0]), ["b", "c", "d"]);
});

Deno.test("WriteQueue halves a failed group, and rejects only the unit at fault", async () => {
  const { queue, groups } = createQueue((units) => {
    if (names(units).includes("bad")) throw new Error("no");
    return resultsOf(units);
  });
  const outcomes = await Promise.allSettled(["a", "bad", "b"].map((name) => queue.push(unit(name))));
  assert.deepEqual(outcomes.map((outcome) => outcome.status), ["fulfilled", "rejected", "fulfilled"]);
  assert.deepEqual(groups, [["a", "bad", "b"], ["a"], ["bad", "b"], ["bad"], ["b"]]);
});

Deno.test("WriteQueue never retries a group whose database was unreachable: it may be committed", async () => {
  const { queue, groups } = createQueue(() => {
    throw new PurserError("unavailable", "Cannot write: gone");
  });
  const outcomes = await Promise.allSettled(["a", "b", "c"].map((name) => queue.push(unit(name))));
  assert.deepEqual(outcomes.map((outcome) => outcome.status), ["rejected", "rejected", "rejected"]);
  assert.deepEqual(groups, [["a", "b", "c"]]);
});

Deno.test("WriteQueue continues after a failure", async () => {
  let isBroken = true;
  const { queue } = createQueue((units) => {
    if (isBroken) throw new Error("no");
    return resultsOf(units);
  });
  await assert.rejects(queue.push(unit("a")));
  isBroken = false;
  assert.equal((await queue.push(unit("b"))).length, 1);
});

Deno.test("WriteQueue splits waiting units into commits of bounded size, and keeps a large unit whole", async () => {
  const { queue, groups } = createQueue(resultsOf);
  const large: WriteUnit = Array.from({ length: 5_000 }, () => ({ sql: "large" }));
  const medium: WriteUnit = Array.from({ length: 1_500 }, () => ({ sql: "medium" }));
  const results = await Promise.all(
    [large, medium, medium, medium].map((statements) => queue.push(statements)),
  );
  assert.deepEqual(results.map((result) => result.length), [5_000, 1_500, 1_500, 1_500]);
  assert.deepEqual(groups, [["large"], ["medium", "medium"], ["medium"]]);
});

Deno.test("WriteQueue resolves close() after waiting units are committed, and refuses later ones", async () => {
  const { queue, groups, pending } = createQueue();
  const waiting = queue.push(unit("a"));
  const reason = new Error("closed");
  let isClosed = false;
  const closing = queue.close(reason).then(() => isClosed = true);
  await assert.rejects(queue.push(unit("b")), reason);
  await turn();
  assert.equal(isClosed, false);
  pending.shift()!.resolve();
  await waiting;
  await closing;
  assert.deepEqual(groups, [["a"]]);
  await queue.close(reason); // an idle queue closes at once
});

Deno.test("WriteQueue never commits an abandoned unit, and commits the others that wait", async () => {
  const { queue, groups, pending } = createQueue();
  const first = queue.push(unit("a"));
  await turn();
  const over = new AbortController();
  const impatient = { until: 1, signal: over.signal };
  const givenUp = [queue.push(unit("b"), impatient), queue.push(unit("c"), impatient)];
  const patient = queue.push(unit("d"), { until: 2, signal: new AbortController().signal });
  over.abort(new Error("too late"));
  pending.shift()!.resolve();
  await first;
  for (const waiting of givenUp) await assert.rejects(waiting, /too late/);
  pending.shift()!.resolve();
  assert.equal((await patient)[0]!.columns[0], "d");
  assert.deepEqual(groups, [["a"], ["d"]]);
});

Deno.test("WriteQueue passes the latest deadline to a commit", async () => {
  const untils: number[] = [];
  const queue = new WriteQueue((units, until) => {
    untils.push(until);
    return resultsOf(units);
  }, (task) => queueMicrotask(task));
  const { signal } = new AbortController();
  await Promise.all([3, 7, 5].map((until) => queue.push(unit("a"), { until, signal })));
  await queue.push(unit("b"));
  assert.deepEqual(untils, [7, Infinity]);
});

/** Writes items that are called something, by one statement with the names of all. */
function writer(options: Partial<SetWriter<string, string>> = {}, name = "set"): SetWriter<string, string> {
  return {
    plan: (items) => ({
      statements: [{ sql: `${name}(${items.join(" ")})` }],
      read: (results) => items.map((item) => `${item} in ${results[0]!.columns[0]}`),
    }),
    sizeOf: () => 1,
    ...options,
  };
}

Deno.test("WriteQueue writes waiting items as one set, at the position of the first", async () => {
  const { queue, groups } = createQueue(resultsOf);
  const [one, other] = [writer(), writer({}, "other")];
  const outcomes = await Promise.all([
    queue.push(unit("a")),
    queue.pushInSet(one, "x"),
    queue.push(unit("b")),
    queue.pushInSet(other, "p"),
    queue.pushInSet(one, "y"),
    queue.push(unit("c")),
    queue.pushInSet(other, "q"),
    queue.pushInSet(one, "z"),
  ]);
  assert.deepEqual(groups, [["a", "set(x y z)", "b", "other(p q)", "c"]]);
  assert.deepEqual(
    outcomes.map((outcome) => typeof outcome === "string" ? outcome : outcome[0]!.columns[0]),
    [
      "a",
      "x in set(x y z)",
      "b",
      "p in other(p q)",
      "y in set(x y z)",
      "c",
      "q in other(p q)",
      "z in set(x y z)",
    ],
  );
});

Deno.test("WriteQueue finds a refused item by bisection, and commits every other once", async () => {
  const committed: string[] = [];
  const { queue, groups } = createQueue((units) => {
    const all = names(units).flatMap((name) => name.replace(/^set\(|\)$/g, "").split(" "));
    if (all.some((name) => name.startsWith("bad"))) throw new Error(`no ${all}`);
    committed.push(...all);
    return resultsOf(units);
  });
  const items = Array.from({ length: 32 }, (_, i) => i === 5 || i === 29 ? `bad${i}` : `i${i}`);
  const set = writer();
  const outcomes = await Promise.allSettled(items.map((item) => queue.pushInSet(set, item)));
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    items.map((item) => item.startsWith("bad") ? "rejected" : "fulfilled"),
  );
  assert.equal((outcomes[5] as PromiseRejectedResult).reason.message, "no bad5");
  assert.deepEqual(committed, items.filter((item) => !item.startsWith("bad")));
  assert.ok(groups.length <= 1 + 2 * 2 * 5, `${groups.length} commits were tried`);
});

Deno.test("WriteQueue never retries a set whose database was unreachable", async () => {
  const { queue, groups } = createQueue(() => {
    throw new PurserError("unavailable", "Cannot write: gone");
  });
  const set = writer();
  const outcomes = await Promise.allSettled(["a", "b", "c"].map((item) => queue.pushInSet(set, item)));
  assert.deepEqual(outcomes.map(({ status }) => status), ["rejected", "rejected", "rejected"]);
  assert.deepEqual(groups, [["set(a b c)"]]);
});

Deno.test("WriteQueue limits a set by items and by bytes; a single item may be larger", async () => {
  const { queue, groups } = createQueue(resultsOf);
  const many = writer();
  const results = await Promise.all(
    Array.from({ length: 600 }, (_, i) => queue.pushInSet(many, String(i))),
  );
  assert.equal(results.length, 600);
  assert.deepEqual(groups.map(([set]) => set!.split(" ").length), [256, 256, 88]);

  groups.length = 0;
  const kb = 1024;
  const large = writer({ sizeOf: (item) => Number(item) * kb });
  await Promise.all(
    ["600", "424", "1", "5000", "1", "1023", "1"].map((item) => queue.pushInSet(large, item)),
  );
  assert.deepEqual(groups.flat(), ["set(600 424)", "set(1)", "set(5000)", "set(1 1023)", "set(1)"]);
});

Deno.test("WriteQueue defers an item that does not fit to the next commit, and all after it", async () => {
  const { queue, groups } = createQueue(resultsOf);
  const seen: [string, string[]][] = [];
  const set = writer({
    fits(item, others) {
      seen.push([item, [...others]]);
      return others.every((other) => other[0] !== item[0]);
    },
  });
  await Promise.all([
    ...["a1", "b1", "a2", "c1", "b2"].map((item) => queue.pushInSet(set, item)),
    queue.push(unit("u")),
  ]);
  assert.deepEqual(groups, [["set(a1 b1)"], ["set(a2 c1 b2)", "u"]]);
  assert.deepEqual(seen, [
    ["b1", ["a1"]],
    ["a2", ["a1", "b1"]],
    ["c1", ["a2"]],
    ["b2", ["a2", "c1"]],
  ]);
});

Deno.test("WriteQueue rejects items whose results can't be read, and does not commit them again", async () => {
  const { queue, groups } = createQueue(resultsOf);
  const set = writer({
    plan: (items) => ({
      statements: [{ sql: `set(${items.join(" ")})` }],
      read() {
        throw new TypeError("unreadable");
      },
    }),
  });
  const neighbour = queue.push(unit("a"));
  const outcomes = await Promise.allSettled(["x", "y"].map((item) => queue.pushInSet(set, item)));
  assert.deepEqual(outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.message), [
    "unreadable",
    "unreadable",
  ]);
  assert.equal((await neighbour)[0]!.columns[0], "a");
  assert.deepEqual(groups, [["a", "set(x y)"]]);
});

Deno.test("WriteQueue rejects only the item whose statements can't be created", async () => {
  const { queue, groups } = createQueue(resultsOf);
  const set = writer({
    plan(items) {
      if (items.includes("bad")) throw new TypeError("no statement");
      return { statements: [{ sql: items.join(" ") }], read: () => [...items] };
    },
  });
  const outcomes = await Promise.allSettled(["x", "bad", "y"].map((item) => queue.pushInSet(set, item)));
  assert.deepEqual(outcomes.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assert.deepEqual(groups, [["x"], ["y"]]);
});

Deno.test("WriteQueue commits every item and unit once or rejects it, in any combination", async () => {
  const anyWork = fc.array(
    fc.record({
      kind: fc.constantFrom("unit", "one", "other"),
      isBad: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, {
        weight: 1,
        arbitrary: fc.constant(true),
      }),
      session: fc.nat(3),
      bytes: fc.constantFrom(1, 1, 1, 400_000, 2_000_000),
      waits: fc.boolean(),
    }),
    { minLength: 1, maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(anyWork, async (work) => {
      interface Item {
        id: number;
        isBad: boolean;
        session: number;
        bytes: number;
      }
      const committed: number[] = [];
      const queue = new WriteQueue(async (units) => {
        await Promise.resolve();
        const ids = units.flatMap((statements) => statements[0]!.args as number[]);
        if (ids.some((id) => work[id]!.isBad)) throw new Error("refused");
        committed.push(...ids);
        return units.map((statements) => statements.map(() => ({ columns: [], rows: [] })));
      }, (task) => queueMicrotask(task));
      const writers = new Map(["one", "other"].map((kind): [string, SetWriter<Item, number>] => [kind, {
        plan: (items) => ({
          statements: [{ sql: kind, args: items.map(({ id }) => id) }],
          read: () => items.map(({ id }) => id),
        }),
        sizeOf: ({ bytes }) => bytes,
        fits: ({ session }, others) => others.every((other) => other.session !== session),
      }]));
      const outcomes: Promise<unknown>[] = [];
      for (const [id, { kind, waits, ...each }] of work.entries()) {
        const writer = writers.get(kind);
        outcomes.push(
          writer ? queue.pushInSet(writer, { id, ...each }) : queue.push([{ sql: "unit", args: [id] }]),
        );
        outcomes.at(-1)!.catch(() => {});
        if (waits) await Promise.resolve();
      }
      const settled = await Promise.allSettled(outcomes);
      settled.forEach((outcome, id) => {
        assert.equal(outcome.status, work[id]!.isBad ? "rejected" : "fulfilled");
        if (outcome.status === "fulfilled" && work[id]!.kind !== "unit") assert.equal(outcome.value, id);
      });
      const good = work.flatMap(({ isBad }, id) => isBad ? [] : [id]);
      assert.deepEqual([...committed].sort((a, b) => a - b), good);
      // Items of one kind are committed in the order in which they came.
      for (const kind of ["unit", "one", "other"]) {
        const order = committed.filter((id) => work[id]!.kind === kind);
        assert.deepEqual(order, [...order].sort((a, b) => a - b));
      }
    }),
    { numRuns: 300 },
  );
});
