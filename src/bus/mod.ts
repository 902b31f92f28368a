/** Publish and subscribe, after the commit. */
export { type Bus, type BusEvent, createBus } from "./bus.ts";
