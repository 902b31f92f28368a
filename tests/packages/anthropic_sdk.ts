export { default } from "npm:@anthropic-ai/sdk@1.12.0";
