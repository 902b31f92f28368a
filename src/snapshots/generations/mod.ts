/** Generations of sessions, for processes that neither export nor import: it loads nothing else of snapshots. */
export { GenerationsInUse, sweepGenerations } from "./sweep_generations.ts";
