/** The part of alerts that every process needs: the triggers that fire them, and whether there are rules. */
export { firingLogic } from "./firing_logic.ts";
export { hasRules } from "../context.ts";
