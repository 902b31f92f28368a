/**
 * The cost that alert rules add to the booking of a call: without rules, and with many that don't fire. Each has a database
 * of its own; the same metered call, without the AI SDK, is booked in all of them in turn.
 */
import { measureInTurn, openWorkers, ratioOf, reportVersions } from "./compare.ts";
import { ms } from "./measure.ts";

const COUNTS = [0, 1, 10, 10_000, 100_000];
const ROUNDS = 40;
const AT_ONCE = 64;

await using workers = await openWorkers("alert_rules", { counts: COUNTS });
for (
  const [suffix, how, repetition] of [
    ["", "one at a time", { times: 25 }],
    ["AtOnce", `${AT_ONCE} at once, each`, { times: 1, calls: AT_ONCE }],
  ] as const
) {
  const plan = Object.fromEntries(COUNTS.map((count) => [`rules${count}${suffix}`, repetition]));
  const figures = await measureInTurn(workers.list, plan, { rounds: ROUNDS });
  reportVersions(
    `Booking a call, ${how}, local file, synchronous=NORMAL, with alert rules that don't fire: medians (means)`,
    COUNTS.flatMap((count) => {
      const key = `rules${count}${suffix}`;
      const name = count === 0 ? "no rules" : count === 1 ? "1 rule" : `${count.toLocaleString("en")} rules`;
      const row = { name, figures: figures.map((each) => each[key]!), format: ms };
      if (count === 0) return [row];
      return [row, {
        name: "  beside none",
        figures: figures.map((each) => ratioOf(each[key]!, each[`rules0${suffix}`]!)),
        format: (value: number) => `${value.toFixed(2)}x`,
      }];
    }),
  );
}
