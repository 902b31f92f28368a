import { type DemoWorld, runScript } from "./fill_month.ts";
import type { Random } from "./random.ts";
import { AGENTS, type DemoAgent } from "./scene.ts";
import { type Script, Scripts } from "./script.ts";

/** The agents that work at the same time. */
const WORKERS = 3;

/** The agents at work, several times where more of their sessions are seen. */
const LIVELY = ["coder", "researcher", "support", "coder", "support", "support", "triage", "prompt-lab"]
  .map((id) => AGENTS.find((agent) => agent.id === id)!);

/** Keeps agents at work until the signal aborts: a call every second or two. Resolves when the last run has ended. */
export async function keepMoving(world: DemoWorld, signal: AbortSignal): Promise<void> {
  const scripts = new Scripts(world.random);
  await Promise.all(Array.from({ length: WORKERS }, (_, index) => work(world, { scripts, index, signal })));
}

async function work(
  world: DemoWorld,
  { scripts, index, signal }: { scripts: Scripts; index: number; signal: AbortSignal },
): Promise<void> {
  const { core, random } = world;
  // The first runs are half done, so that the page shows them at once.
  let next: { agent: DemoAgent; script: Script } = startOf(scripts, LIVELY[index]!);
  while (!signal.aborted) {
    await runScript(world, { ...next, signal });
    await core.clock.sleep(random.whole(500, 4_000), signal);
    const agent = random.pick(LIVELY);
    next = { agent, script: atPace(scripts.write(agent), random) };
  }
}

/** Returns a session whose first two steps take no time. */
function startOf(scripts: Scripts, agent: DemoAgent): { agent: DemoAgent; script: Script } {
  let script = scripts.write(agent);
  while (script.steps.length < 4) script = scripts.write(agent);
  const steps = script.steps.map((step, index) => index < 2 ? { ...step, latencyMs: 0, toolMs: 0 } : step);
  return { agent, script: { ...script, steps } };
}

/** Returns a session whose answers take two to five seconds, so that there is something to see. */
function atPace(script: Script, random: Random): Script {
  const steps = script.steps.map((step) => ({
    ...step,
    latencyMs: random.whole(1_500, 4_500),
    toolMs: random.whole(200, 1_200),
  }));
  return { ...script, steps };
}
