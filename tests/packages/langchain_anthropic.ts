export { ChatAnthropic } from "npm:@langchain/anthropic@1.5.11";
