/** Valid request bodies for tests to change. */
export const AGENT = { model: "demo:echo" };
export const EVENT = {
  call_id: "c1",
  at: "2026-11-01T11:00:00.000Z",
  agent_id: "elsewhere",
  provider: "openai",
  model: "gpt-4o-mini",
  input_tokens: 1000,
  output_tokens: 1,
};
