/** The definitions of agents. */
export {
  type AgentDefinition,
  checkAgentName,
  defineAgent,
  describeAgent,
  getAgent,
  getAgentDefinition,
  insertAgentIfNew,
  listAgents,
  removeAgent,
  toAgentDefinition,
} from "./agents.ts";
export { type Agent } from "../contract/agents.ts";
