/** The definitions of agents. */
export { type Agent, type AgentDefinition, describeAgent } from "./agent.ts";
export {
  checkAgentName,
  defineAgent,
  getAgent,
  getAgentDefinition,
  insertAgentIfNew,
  listAgents,
  removeAgent,
} from "./agents.ts";
