import type { Tags } from "../../contract/tags/tags.ts";
import type { QUALITIES } from "../../contract/values.ts";
import type { Usage } from "../../pricing/mod.ts";
import type { SightingOrigin } from "./said.ts";

/*
 * A sighting is what one source says of one model call. A call is one row of the ledger, booked once by its first sighting; the
 * others are kept as evidence, and correct or complete it. docs/decisions has the reasons.
 */

/** The certainty of the counts of a sighting. */
export type Quality = typeof QUALITIES[number];

/** The statement of one source about one call. Times in milliseconds since the epoch; counts are inclusive, as those of `Usage`. */
export interface Sighting {
  /**
   * The name of the call within its source: the same each time, in every copy of its record and on every machine. With times more than
   * a day apart, one name may be that of two calls.
   */
  ref: string;
  /** The provider's id of the answer. */
  responseId?: string;
  /** The provider's id of the request. */
  requestId?: string;
  /** The provider's id of the account that pays. */
  account?: string;
  /** The identity of a call without ids whose records are copied under new refs. */
  fingerprint?: string;
  /** The provider as Purser names it; undefined where the source doesn't know who bills. */
  provider?: string;
  /** Undefined where the source doesn't name it. */
  model?: string;
  /** The time at which the call was made, or answered where the source knows no other. */
  at: number;
  durationMs?: number;
  usage: Usage;
  quality: Quality;
  /** The other things that are unknown: `input_unknown`, `model_missing`, `disputed`, `fork_parent_missing`. */
  marks?: readonly string[];
  serviceTier?: string;
  speed?: string;
  inferenceGeo?: string;
  /** The names of the tools that the answer called. */
  tools?: readonly string[];
  /** The cost that the source states, in USD as it is written there. */
  statedCostUsd?: string;
  /** True if the source says that a plan pays for the call: no bill has its cost. */
  isPlan?: boolean;
  /** The session as its agent names it; of a sub-agent the session of its root. */
  session?: string;
  /** True in a session that has copied the call from another one: it is that one's. */
  isCopy?: boolean;
  /** The sub-agent that made the call. */
  subagent?: { id: string; parent?: string; type?: string };
  /** The run, such as the trace of a span. */
  run?: string;
  /**
   * The number of records around the call that are known, if not all are: the statement of a witness that knows more of them
   * replaces the others.
   */
  known?: number;
  /** True if the other witness of the call, its agent's log or telemetry, has no id of it: its counts tell. */
  isFoundByCounts?: boolean;
  /** The working directory. */
  folder?: string;
  branch?: string;
  tags?: Tags;
  /** The exporter, its machine and the agent, where the sightings of a request are of several. */
  of?: Pick<SightingOrigin, "name" | "agentId" | "machine">;
}
