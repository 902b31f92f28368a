import assert from "node:assert/strict";
import { newPlace, type Place, purser } from "../harness/cli_process.ts";
import { inProcess } from "../harness/in_process.ts";
import { seededRandom } from "../harness/random.ts";
import { cases } from "../harness/thorough.ts";

/** Many commands at once, each a process of its own, on one file. */

/** The number of rounds; `PURSER_STORM_ROUNDS=15` for a thorough run. */
const ROUNDS = Number(Deno.env.get("PURSER_STORM_ROUNDS") ?? 1);
const COMMANDS = cases(10);

/** The effects of the commands of all rounds, by the books of this test. */
interface Done {
  runs: string[];
  rules: string[];
  keys: string[];
  agents: string[];
}

/** A command line, and what it adds to the books. */
interface Command {
  line: string[];
  note?: (out: string) => void;
}

/** The kinds of commands, each with a number of its own. */
const KINDS: ((number: string, done: Done) => Command)[] = [
  (number, { runs }) => ({
    line: ["run", "helper", "hello", "--session", `run-${number}`],
    note: () => runs.push(`run-${number}`),
  }),
  (number, { rules }) => ({
    line: [
      ...["alerts", "add", "--threshold-type", "per_day_usd", "--threshold-usd", "1000"],
      ...["--severity", "info", "--name", `rule ${number}`],
    ],
    note: () => rules.push(`rule ${number}`),
  }),
  (number, { keys }) => ({
    line: ["keys", "create", `key-${number}`, "--scope", "read"],
    note: () => keys.push(`key-${number}`),
  }),
  (number, { agents }) => ({
    line: ["agents", "set", `agent-${number}`, "--model", "demo:echo"],
    note: () => agents.push(`agent-${number}`),
  }),
  () => ({ line: ["cost"] }),
  () => ({ line: ["sessions", "list"] }),
  () => ({ line: ["alerts", "list"] }),
  () => ({ line: ["agents", "show", "helper"] }),
];

Deno.test(`${COMMANDS} commands at once on one file, ${ROUNDS} rounds: none fails, and nothing is lost or done twice`, async () => {
  await using place = await newPlace();
  const random = seededRandom(20_261_122);
  const done: Done = { runs: [], rules: [], keys: [], agents: ["helper"] };
  // All at once on a file that does not exist yet: the first round also creates the database.
  const first = await Promise.all(
    Array.from({ length: 4 }, () => purser(place, ["agents", "set", "helper", "--model", "demo:echo"])),
  );
  assert.deepEqual(first.filter(({ code }) => code !== 0), []);
  for (let round = 0; round < ROUNDS; round++) {
    const commands = Array.from({ length: COMMANDS }, (_, index) => {
      // Each kind is there; their order is random.
      const kind = index < KINDS.length ? index : Math.floor(random() * KINDS.length);
      return KINDS[kind]!(`${round}-${index}`, done);
    }).sort(() => random() - 0.5);
    const outcomes = await Promise.all(commands.map(async ({ line, note }) => {
      const outcome = await purser(place, line);
      if (outcome.code === 0) note?.(outcome.out);
      return { line: line.join(" "), ...outcome };
    }));
    assert.deepEqual(outcomes.filter(({ code }) => code !== 0), [], `round ${round}`);
    await checkBooks(place, done);
  }
});

async function checkBooks(place: Place, done: Done): Promise<void> {
  const read = async (...line: string[]) => JSON.parse((await inProcess(place, [...line, "--json"])).out);
  const sessions: { session_id: string; status: string; token_usage: { model_calls: number } }[] = await read(
    ...["sessions", "list", "--limit", "500"],
  );
  assert.deepEqual(sessions.map(({ session_id }) => session_id).sort(), done.runs.toSorted());
  for (const { status, token_usage } of sessions) {
    assert.deepEqual([status, token_usage.model_calls], ["completed", 1]);
  }
  const [costs] = await read("cost", "--by", "agent");
  assert.equal(costs.model_calls, done.runs.length, "each call is booked once");
  const names = (rows: { name: string }[]) => rows.map(({ name }) => name).sort();
  assert.deepEqual(names(await read("alerts", "list")), done.rules.toSorted());
  assert.deepEqual(names(await read("keys", "list", "--limit", "500")), done.keys.toSorted());
  const agents: { agent_id: string }[] = await read("agents", "list");
  assert.deepEqual(agents.map(({ agent_id }) => agent_id).sort(), done.agents.toSorted());
  const left = [...Deno.readDirSync(place.folder)].map(({ name }) => name);
  assert.deepEqual(left.filter((name) => /instance/.test(name)), [], "no lock is left behind");
}
