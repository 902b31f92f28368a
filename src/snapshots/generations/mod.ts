/** What a process has to know of the generations of sessions, whether it takes and restores snapshots or not. */
export { GenerationsInUse, sweepGenerations } from "./sweep_generations.ts";
