/**
 * The calls that the logs of agents leave out, by importer, a sentence each. Apart from the importers, which a server doesn't
 * load.
 */
export const HOLES = {
  "claude-code": [
    "Compactions, session titles and other calls in the background are missing.",
    "The calls that a model makes for the WebSearch tool are missing, with their search fees.",
    "A call that was stopped or has failed in mid-stream is known by its first output tokens only.",
    "Sessions without a file are missing: those with --no-session-persistence, and those that were deleted, which Claude Code " +
    "does after 30 days.",
  ],
  "cline": [
    "A call that fails on its way and is repeated leaves no trace.",
    "A compaction takes messages with their counts out of a session: import before it.",
  ],
  "codex": [
    "Answers that were cut off are missing.",
    "Calls that were still running when `codex exec` has ended are missing.",
    "Until the versions with token usage records, compactions are missing, and a call is the difference of two sums.",
    "The service tier isn't recorded: all calls are priced at the standard one.",
  ],
  "gemini-cli": [
    "An answer that is cut off, or that fails on its way, has no counts, and its retry no trace.",
    "Calls that are no answer to the conversation, such as the compression of its history, the routing between models and web search, are not recorded.",
    "Gemini CLI deletes sessions after 30 days.",
  ],
  "kilo": [
    "The call that gives a session its title is not recorded.",
    "A call whose connection is cut, or that fails on its way and is repeated, has no counts.",
  ],
  "langfuse": [
    "Langfuse has what programs have sent it: a call that none of them has told is missing, and a count that they left out.",
    "The provider is missing unless the program says it: a call is priced as one of the model's maker.",
    "Costs are Langfuse's estimates, or the program's own: they are beside the price, not in its place.",
  ],
  "litellm": [
    "The counts of a stream without include_usage are LiteLLM's own guess.",
    "A call that has failed has no counts, also if its provider bills it.",
    "Costs are LiteLLM's estimates: they are beside the price, not in its place.",
  ],
  "opencode": [
    "The call that gives a session its title, by a small model, is not recorded.",
    "A call whose connection is cut, or that fails on its way and is repeated, has no counts.",
    "In storage/, sub-agents appear as sessions of their own, and of a message with several calls only the last one has counts.",
  ],
  "pi": [
    "A call whose connection is cut and that pi repeats leaves no trace.",
    "The calls that summarize a conversation for a compaction or a branch are not recorded.",
  ],
  "qwen-code": [
    "An answer that is cut off has no counts.",
  ],
  "roo": [
    "A request that fails on its way and is repeated has no counts.",
  ],
} as const satisfies Record<string, readonly string[]>;
