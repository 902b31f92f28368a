/** Metered calls in databases with growing numbers of alert rules that don't fire. */
import type { Library, Subject, Task } from "../subject.ts";
import { instantModel, PRICES } from "./models.ts";

interface Options {
  counts: number[];
}

const TYPES = ["per_day_usd", "per_session_usd", "per_hour_usd", "per_run_usd", "per_month_usd"];
const SESSIONS = 50;
const AT_ONCE = 64;
const PROMPT = [{ role: "user" as const, content: [{ type: "text" as const, text: "What is the answer?" }] }];

export async function open({ openPurser }: Library, { counts }: Options): Promise<Subject> {
  const directory = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const tasks: Record<string, Task> = {};
  const opened: Purser[] = [];
  for (const count of counts) {
    const purser = await openPurser({
      db: `${directory}/rules_${count}.db`,
      durability: "normal",
      env: {},
      prices: PRICES,
    });
    opened.push(purser);
    await addRules(purser, count);
    const model = instantModel(1);
    const metered = Array.from(
      { length: SESSIONS },
      (_, session) => purser.meter(model, { agentId: "bench", sessionId: `session-${session}` }),
    );
    let calls = 0;
    tasks[`rules${count}`] = () => metered[calls++ % SESSIONS]!.doGenerate({ prompt: PROMPT });
    tasks[`rules${count}AtOnce`] = () =>
      Promise.all(
        Array.from({ length: AT_ONCE }, () => metered[calls++ % SESSIONS]!.doGenerate({ prompt: PROMPT })),
      );
  }
  return {
    tasks,
    async close() {
      for (const purser of opened) await purser.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

type Purser = Awaited<ReturnType<Library["openPurser"]>>;

/** Adds rules of all kinds for the booked agent, for others and for all; none ever fires, some are disabled. */
async function addRules({ app }: Purser, count: number): Promise<void> {
  const add = async (index: number) => {
    const response = await app.request("/alerts/rules", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        name: `Rule ${index}`,
        threshold_type: TYPES[index % TYPES.length],
        threshold_usd: 900_000 + index,
        severity: "warning",
        agent_id: [null, "bench", `other_${index}`][index % 3],
        enabled: index % 7 !== 6,
      }),
    });
    if (response.status !== 201) throw new Error(await response.text());
    await response.body?.cancel();
  };
  for (let index = 0; index < count; index += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - index) }, (_, n) => add(index + n)));
  }
}
