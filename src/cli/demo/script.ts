import type { Random } from "./random.ts";
import type { DemoAgent, ToolUse } from "./scene.ts";

/** The tokens of one call. */
export interface CallTokens {
  input: number;
  output: number;
  reasoning: number;
  cacheRead: number;
  cacheWrite: number;
}

/** One answer of a model. */
export interface ScriptedStep {
  tokens: CallTokens;
  latencyMs: number;
  /** Undefined: the step is the answer. */
  use?: ToolUse;
  toolMs: number;
}

/** A session as it will happen. */
export interface Script {
  /** The request, which is unique: the models find their script by it. */
  ask: string;
  steps: readonly ScriptedStep[];
  answer: string;
  /** The message of the provider's error that ends it. */
  failure?: string;
}

/** Makes up sessions. Each has a number of its own. */
export class Scripts {
  #number = 4_100;

  constructor(private readonly random: Random) {}

  /** Makes up a session of an agent. */
  write(agent: DemoAgent): Script {
    const { random } = this;
    const task = random.pick(agent.tasks);
    const number = String(this.#number += random.whole(1, 9));
    const calls = random.whole(...agent.calls);
    const steps = this.tokens(agent, calls).map((tokens, step): ScriptedStep => ({
      tokens,
      latencyMs: 900 + Math.round(tokens.output * 11) + random.whole(0, 900),
      toolMs: random.whole(40, 2_400),
      ...(step < calls - 1 && { use: numbered(task.uses[step % task.uses.length]!, number, step) }),
    }));
    return { ask: task.ask.replaceAll("#", number), steps, answer: task.answer.replaceAll("#", number) };
  }

  /** Makes up the tokens of the calls of a session. */
  tokens({ model, ...agent }: DemoAgent, calls: number): CallTokens[] {
    const { random } = this;
    let input = random.whole(...agent.input);
    let sent = random.next() < agent.cached ? Math.round(input * 0.6) : 0;
    return Array.from({ length: calls }, () => {
      const output = random.whole(...agent.output);
      const cacheRead = agent.cached === 0 ? 0 : Math.round(sent * Math.min(1, agent.cached + 0.05));
      const tokens = {
        input,
        output,
        reasoning: Math.round(output * agent.reasoning),
        cacheRead,
        // Anthropic alone charges for them.
        cacheWrite: model.startsWith("anthropic:") ? Math.round((input - cacheRead) * agent.cached) : 0,
      };
      sent = input;
      input += output + random.whole(...agent.growth);
      return tokens;
    });
  }

  /** Makes up a run that repeats one search again and again. */
  writeLoop(agent: DemoAgent): Script {
    const script = this.write(agent);
    const [use] = agent.tasks[0]!.uses;
    const steps = this.tokens(agent, 12).map((tokens, step): ScriptedStep => ({
      tokens,
      latencyMs: 4_000,
      toolMs: 300,
      ...(step < 11 && { use: { ...use!, result: { results: 0 } } }),
    }));
    return { ...script, steps };
  }

  /** Makes up a run with one call that is far dearer than any other. */
  writeFlood(agent: DemoAgent): Script {
    const script = this.write(agent);
    const steps = script.steps.slice(0, 2).map((step, index) =>
      index === 0 ? step : {
        ...step,
        use: undefined,
        tokens: { ...step.tokens, input: 612_000, cacheWrite: 0, output: 4_800 },
      }
    );
    return { ...script, steps };
  }

  /** Makes up a run that its provider ends. */
  writeFailure(agent: DemoAgent): Script {
    return { ...this.write(agent), failure: "The request exceeds the context window of the model" };
  }
}

/** Puts the number of a session into a tool call; repeated ones get another page, so that no two are the same. */
function numbered({ tool, input, result }: ToolUse, number: string, step: number): ToolUse {
  const entries = Object.entries(input).map(([name, text]) => [name, text.replaceAll("#", number)]);
  return { tool, input: { ...Object.fromEntries(entries), ...(step > 3 && { part: String(step) }) }, result };
}
