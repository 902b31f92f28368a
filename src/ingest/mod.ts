/** Calls that others have made and recorded. `logs/mod.ts` reads the logs of coding agents. */
export {};
