import type { ReplayStep } from "./replay_steps.ts";

/** How much of a log a viewer may hold. */
export interface HoldLimits {
  steps: number;
  /** Of the events as JSON: what they take in memory is a few times that. */
  characters: number;
}

/** 200 million characters are about half of what a process may take by default. */
export const HOLD_LIMITS: HoldLimits = { steps: 100_000, characters: 200_000_000 };

/** Steps in memory. */
export interface HeldSteps {
  steps: ReplayStep[];
  /** The first step that had no room, where the log is longer. */
  next?: ReplayStep;
}

/** Reads steps until they end or there is no room. Holds one at least. */
export async function holdSteps(
  steps: AsyncIterable<ReplayStep>,
  limits: HoldLimits = HOLD_LIMITS,
): Promise<HeldSteps> {
  const held: ReplayStep[] = [];
  let characters = 0;
  for await (const step of steps) {
    characters += JSON.stringify(step.event).length;
    const isFull = held.length >= limits.steps || characters > limits.characters;
    if (isFull && held.length > 0) return { steps: held, next: step };
    held.push(step);
  }
  return { steps: held };
}
