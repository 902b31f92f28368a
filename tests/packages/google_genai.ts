export { GoogleGenAI } from "npm:@google/genai@3.1.0";
