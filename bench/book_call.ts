/**
 * The cost that booking adds to a model call of the AI SDK, and the total cost of a step of a 20-step tool loop and of a
 * run of one step. The model answers at once, from memory, so all that is left is the SDK, Purser and the disk.
 */
import {
  type ComparedRow,
  type Figure,
  measureInTurn,
  openWorkers,
  over,
  reportVersions,
} from "./compare.ts";
import { ms } from "./measure.ts";

const STEPS = 20;
const AT_ONCE = 64;
const ROUNDS = 40;

const PLAN = {
  commit: { times: 50 },
  sdkCall: { times: 50 },
  sdkCallsAtOnce: { times: 2, calls: AT_ONCE },
  sdkLoop: { times: 3, calls: STEPS },
  call: { times: 25 },
  callsAtOnce: { times: 4, calls: AT_ONCE },
  run: { times: 4, calls: STEPS },
  runWithBudget: { times: 4, calls: STEPS },
  runOfOneStep: { times: 12 },
};

const STORAGES = {
  full: "local file, synchronous=FULL",
  normal: "local file, synchronous=NORMAL",
  memory: "in memory",
};

for (const [storage, where] of Object.entries(STORAGES)) {
  await using workers = await openWorkers("book_call", { storage, steps: STEPS, atOnce: AT_ONCE });
  const figures = await measureInTurn(workers.list, PLAN, { rounds: ROUNDS });
  const row = (name: string, read: (figure: (typeof figures)[number]) => Figure): ComparedRow => ({
    name,
    figures: figures.map(read),
    format: ms,
  });
  reportVersions(`Booking, ${where}: medians (means)`, [
    row("one row, one commit", ({ commit }) => commit),
    row("AI SDK: a call", ({ sdkCall }) => sdkCall),
    row(`AI SDK: a call, ${AT_ONCE} at once`, ({ sdkCallsAtOnce }) => sdkCallsAtOnce),
    row(`AI SDK: a step of a ${STEPS}-step tool loop`, ({ sdkLoop }) => sdkLoop),
    row("metered call", ({ call }) => call),
    row("  over the SDK", ({ call, sdkCall }) => over(call, sdkCall)),
    row("  over the SDK and a commit", ({ call, sdkCall, commit }) => over(call, sdkCall, commit)),
    row(`metered call, ${AT_ONCE} at once`, ({ callsAtOnce }) => callsAtOnce),
    row("  over the SDK", ({ callsAtOnce, sdkCallsAtOnce }) => over(callsAtOnce, sdkCallsAtOnce)),
    row(`step of a ${STEPS}-step run`, ({ run }) => run),
    row("  over the SDK", ({ run, sdkLoop }) => over(run, sdkLoop)),
    row("  over the SDK and a commit", ({ run, sdkLoop, commit }) => over(run, sdkLoop, commit)),
    row(`step of a ${STEPS}-step run with a budget`, ({ runWithBudget }) => runWithBudget),
    row("run of one step", ({ runOfOneStep }) => runOfOneStep),
    row(
      "  over the SDK and three commits",
      ({ runOfOneStep, sdkCall, commit }) => over(runOfOneStep, sdkCall, commit, commit, commit),
    ),
  ]);
}
