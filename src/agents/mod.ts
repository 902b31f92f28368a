/** The definitions of agents. */
export { type AgentDefinition, describeAgent } from "./agent.ts";
export type { Agent } from "../contract/agents.ts";
export {
  checkAgentName,
  defineAgent,
  getAgent,
  getAgentDefinition,
  insertAgentIfNew,
  listAgents,
  removeAgent,
  toAgentDefinition,
} from "./agents.ts";
