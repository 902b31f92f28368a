import { createHash } from "node:crypto";
import { toCanonicalText } from "../kernel/json/canonical_json.ts";
import { type Detection, growingInputDetection, repeatedCallDetection } from "./detect/detection.ts";
import {
  detectGrowingInput,
  detectRepeatedCall,
  type InputGrowth,
  type SeenCalls,
} from "./detect/detectors.ts";
import { KEPT } from "./detect/limits.ts";
import { type CallObservation, type ToolCallsObservation, unitOf } from "./detect/observation.ts";
import { Lru } from "./lru.ts";

/** Watches the runs and sessions of this process, the latest ones only, in memory. */
export class RunWatch {
  #seen = new Lru<SeenCalls>(KEPT.runs);
  #growths = new Lru<{ lines: readonly InputGrowth[] }>(KEPT.growths);

  /** The number of runs in memory, at most those of `KEPT`. */
  get size(): { runs: number; growths: number } {
    return { runs: this.#seen.size, growths: this.#growths.size };
  }

  /** Adds an observation to its run and returns the detections. */
  watch(observation: CallObservation | ToolCallsObservation): Detection[] {
    return observation.type === "tool_calls" ? this.#watchTools(observation) : this.#watchInput(observation);
  }

  #watchTools(observation: ToolCallsObservation): Detection[] {
    const key = `${observation.agentId}/${observation.runId}`;
    let seen = this.#seen.get(key) ?? [];
    const detections: Detection[] = [];
    for (const { toolName, input } of observation.calls) {
      const next = detectRepeatedCall(seen, hashCall(toolName, input));
      seen = next.seen;
      if (next.result.isAnomaly) {
        detections.push(repeatedCallDetection(observation, { toolName, ...next.result }));
      }
    }
    this.#seen.set(key, seen);
    return detections;
  }

  #watchInput(observation: CallObservation): Detection[] {
    const { agentId, provider, model } = observation;
    const unit = unitOf(observation);
    // Estimated token counts are not comparable.
    if (unit === undefined || observation.isEstimated) return [];
    const key = `${agentId}/${unit.key}/${provider}/${model}`;
    const known = this.#growths.get(key);
    const { lines, result } = detectGrowingInput(known?.lines ?? [], observation);
    if (known) known.lines = lines;
    else this.#growths.set(key, { lines });
    return result.isAnomaly ? [growingInputDetection(observation, { ...result, unit: unit.kind })] : [];
  }
}

/** Hashes a tool call by its name and input, regardless of the order of keys. */
export function hashCall(toolName: string, input: unknown): string {
  return createHash("sha256").update(JSON.stringify(toolName)).update(textOf(input)).digest("hex").slice(
    0,
    32,
  );
}

function textOf(input: unknown): string {
  try {
    return toCanonicalText(input ?? null); // JSON has no undefined
  } catch {
    return JSON.stringify(input); // an input that is not portable JSON
  }
}
