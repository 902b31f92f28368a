import type { Quality } from "../../../calls/mod.ts";

/*
 * A dialect is what one program means by the attributes of its records. It is data: the engine is `read_fields.ts`.
 */

/** Names of attributes; the first one that a record has counts. `@name` is the record's own name. */
export type Names = readonly string[];

/** The records that something is true of: all that is named here must be so. */
export interface Match {
  signal?: "span" | "log";
  name?: RegExp;
  /** Attributes with one of some values, as text; that are there (`true`) or are not (`false`). */
  has?: Readonly<Record<string, readonly string[] | boolean>>;
}

/** The attributes with the counts of a call. Input includes the cache and output the reasoning, unless it says otherwise. */
export interface Counts {
  input?: Names;
  output?: Names;
  cacheRead?: Names;
  cacheWrite?: Names;
  /** The part of the writes that a cache keeps for an hour, and, where the writes have no name of their own, the other part. */
  cacheWrite1h?: Names;
  reasoning?: Names;
  /** Prompts of tools, which the input leaves out. */
  toolInput?: Names;
  total?: Names;
  /** True if the cached tokens are beside the input. */
  isCacheBeside?: true;
  /** The attributes that a record needs to be read by these. */
  has?: Match["has"];
  /**
   * `beside`: the output leaves the reasoning out. `by_total`: the total tells whether it does. `rest`: the output is the total
   * without the input, as nothing else has the reasoning.
   */
  outputIs?: "beside" | "by_total" | "rest";
}

/** The attributes with what is known of a call besides its counts. */
export interface Fields {
  /** The first one whose input or output a record has is the one that it is read by. */
  counts: readonly Counts[];
  provider?: Names;
  model?: Names;
  responseId?: Names;
  requestId?: Names;
  /** The account at the provider. */
  account?: Names;
  session?: Names;
  agent?: Names;
  /** Of a `spawn`: the new session, and the one that it is of. */
  spawned?: { child: Names; parent: Names };
  /** The sub-agents of a coding agent. */
  subagent?: {
    id: Names;
    /** The part of the id that names it; a record whose id has none is of the main agent. */
    idPattern?: RegExp;
    parent?: Names;
    type?: Names;
  };
  serviceTier?: Names;
  speed?: Names;
  cost?: Names;
  durationMs?: Names;
}

/** The meaning of some records. */
export interface Rule {
  when: Match;
  /**
   * `call`: one model call. `agent`: the work of an agent, with the sum of its calls at most. `repeat`: says again what a call of the
   * same program says. `spawn`: a session starts another one, which is its sub-agent.
   */
  is: "call" | "agent" | "repeat" | "spawn" | "other";
  fields?: Partial<Fields>;
  /** The certainty of its counts, if they are not exact. */
  quality?: Quality;
  /** True if another record says that it is a call, too: without counts it says nothing. */
  isSecond?: true;
  /** `span`: a log has the ref of its span, which is the same call. Otherwise its ids name it, or its time and counts. */
  ref?: "span";
  /** The attributes that name, with the time, a call whose records share no id. */
  joinedBy?: Names;
}

export interface Dialect {
  name: string;
  /** The versions that were seen, and when. */
  seen: string;
  /** The recording or the source that shows it. */
  shownBy: string;
  scope: RegExp;
  /** The versions of the scope that it is of; all by default. */
  version?: RegExp;
  /** The coding agent that writes it: its calls are those of this agent, and its own logs may tell them, too. */
  agent?: string;
  /** The first rule that matches a record says what it is. */
  rules: readonly Rule[];
  fields: Fields;
  /** The attributes that are JSON, or Python's repr, whose fields are read as `ATTRIBUTE.FIELD`. */
  texts?: Readonly<Record<string, "json" | "python">>;
  /** Ids that the program makes up in place of the provider's. */
  ownIds?: RegExp;
  /** Providers that name no one who bills: the program itself, or a protocol. */
  noProviders?: RegExp;
  /** True if it tells ids of calls that its agent's log doesn't know. */
  isFoundByCounts?: true;
  /** True if the calls of an agent are incomplete: the difference to its sum is booked as an aggregate. */
  isIncomplete?: true;
  /** Said once where only records came that repeat calls. */
  hint?: string;
  /** The things that its records leave out, a sentence each. */
  holes: readonly string[];
}
