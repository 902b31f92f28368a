import { GoogleGenAI } from "#dev/google_genai.ts";
import { CALCULATOR, QUESTION, type RealClient, RESULT } from "./client.ts";

const { name, description, schema } = CALCULATOR;
const user = { role: "user", parts: [{ text: QUESTION }] };

/** It retries nothing by default, and calls `/v1/models/…` unless a version is set. */
function genai(clientName: string, apiVersion?: string): RealClient {
  return {
    name: clientName,
    api: "google",
    open(place, model) {
      const httpOptions = { baseUrl: place.url, ...(apiVersion && { apiVersion }) };
      const { models } = new GoogleGenAI({ apiKey: place.key, httpOptions });
      const tools = [{ functionDeclarations: [{ name, description, parametersJsonSchema: schema }] }];
      return {
        whole: (abortSignal) =>
          models.generateContent({ model, contents: QUESTION, config: { abortSignal } }),
        async *stream(abortSignal) {
          yield* await models.generateContentStream({ model, contents: QUESTION, config: { abortSignal } });
        },
        async tools() {
          const config = { tools };
          const first = await models.generateContent({ model, contents: [user], config });
          const { id } = first.functionCalls![0]!;
          const result = {
            role: "user",
            parts: [{ functionResponse: { id, name, response: { result: RESULT } } }],
          };
          const contents = [user, first.candidates![0]!.content!, result];
          return [first, await models.generateContent({ model, contents, config })];
        },
        async *toolStream() {
          yield* await models.generateContentStream({ model, contents: [user], config: { tools } });
        },
      };
    },
  };
}

export const googleGenai = genai("@google/genai, generateContent");
export const googleGenaiBeta = genai("@google/genai, generateContent of v1beta", "v1beta");
