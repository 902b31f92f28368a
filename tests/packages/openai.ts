export { default, default as OpenAI } from "npm:openai@7.57.0";
