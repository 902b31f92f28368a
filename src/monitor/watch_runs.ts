import { detectGrowingInput, type InputGrowth } from "./detect/detect_growing_input.ts";
import { detectRepeatedCall, type SeenCalls } from "./detect/detect_repeated_call.ts";
import type { Finding } from "./detect/finding.ts";
import { growingInputFound, repeatedCallFound } from "./detect/findings.ts";
import { hashCall } from "./detect/hash_call.ts";
import { KEPT } from "./detect/limits.ts";
import { Lru } from "./detect/lru.ts";
import type { CallNote, ToolsNote } from "./detect/note.ts";

/** What is remembered of runs: what this process has heard of them, of the latest ones only. */
export class RunWatch {
  #seen = new Lru<SeenCalls>(KEPT.runs);
  #growths = new Lru<InputGrowth>(KEPT.growths);

  /** How many runs are remembered; never more than `KEPT` says. */
  get size(): { runs: number; growths: number } {
    return { runs: this.#seen.size, growths: this.#growths.size };
  }

  /** What a note of a run shows together with what came before. */
  watch(note: CallNote | ToolsNote): Finding[] {
    return note.type === "tools" ? this.#watchTools(note) : this.#watchInput(note);
  }

  #watchTools(note: ToolsNote): Finding[] {
    const key = `${note.agentId}/${note.runId}`;
    let seen = this.#seen.get(key) ?? [];
    const findings: Finding[] = [];
    for (const { toolName, input } of note.calls) {
      const next = detectRepeatedCall(seen, hashCall(toolName, input));
      seen = next.seen;
      if (next.verdict.isFound) findings.push(repeatedCallFound(note, { toolName, ...next.verdict }));
    }
    this.#seen.set(key, seen);
    return findings;
  }

  #watchInput(note: CallNote): Finding[] {
    const { agentId, runId, provider, model } = note;
    // An estimate is no count: what it is compared with would be chance.
    if (runId === null || note.isEstimated) return [];
    const key = `${agentId}/${runId}/${provider}/${model}`;
    const { growth, verdict } = detectGrowingInput(this.#growths.get(key), note);
    this.#growths.set(key, growth);
    return verdict.isFound ? [growingInputFound({ ...note, runId }, verdict)] : [];
  }
}
