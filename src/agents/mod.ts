/** Agent definitions. */
export { type AgentDefinition, describeAgent } from "./agent.ts";
export type { Agent } from "../contract/agents.ts";
export { checkAgentName, defineAgent, insertAgentIfNew, toAgentDefinition } from "./define_agent.ts";
export { getAgent, getAgentDefinition, listAgents, removeAgent } from "./get_agent.ts";
