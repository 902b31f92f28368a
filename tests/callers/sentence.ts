import { answerTo } from "../harness/answers.ts";
import type { Caller } from "./callers.ts";
import { API_OF, MODEL, type OpenWorld } from "./world.ts";

/** A sentence about a model call, and how it is checked for a caller. */
export interface Sentence {
  says: string;
  /** The callers of which it can be said; default: those that make the call themselves. */
  of?(caller: Caller): boolean;
  /** True if it is about SQLite's own errors. */
  isOfSqlite?: true;
  check(caller: Caller, openWorld: OpenWorld): Promise<void>;
}

/** 1,000 tokens in and 100 out: $0.001 and $0.0004. */
export const USAGE = { inputTokens: 1_000, outputTokens: 100 };
export const COST = 1_400_000n;

/** The reply to a caller's call. */
export const answerFor = ({ api }: Caller, usage: object = USAGE) =>
  answerTo({ api: API_OF[api], model: MODEL }, { text: "Hello", usage });

/** The reply with seven tokens of audio among those of its input, for which no price is known; to a chat of OpenAI. */
export function audioAnswerFor(caller: Caller) {
  const text = JSON.stringify(answerFor(caller).answer).replaceAll(
    /(\\*")prompt_tokens_details\1:\{/g,
    (_, quote) => `${quote}prompt_tokens_details${quote}:{${quote}audio_tokens${quote}:7,`,
  );
  return { answer: JSON.parse(text) as ReturnType<typeof answerFor>["answer"] };
}

export const everyCaller = () => true;
export const makesCalls = ({ kind }: Caller) => kind !== "report" && kind !== "log";
/** The callers that tell of a call that was made elsewhere. */
export const isElsewhere = (caller: Caller) => !makesCalls(caller);
export const reports = ({ kind }: Caller) => kind === "report";
export const isStreamed = ({ isStreamed }: Caller) => isStreamed;

/** Of each kind of caller those over one wire, for what the wire has no part in. */
export const overOneWire = ({ api }: Caller) => api === "openai-chat";
