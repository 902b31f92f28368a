/** The names of the built-in tools; no other tool may have them. */
export const BUILT_IN_TOOLS = ["calculator", "current_time"] as const;
