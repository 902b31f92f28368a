import assert from "node:assert/strict";
import { answerTo } from "../../harness/answers.ts";
import type { RestCase } from "../rest_case.ts";

export const anomalyCases: RestCase[] = [
  {
    name: "a run that repeats the same tool call is detected, recorded, and reported",
    async run(api) {
      const model = { api: "openai-chat", model: "my-model" } as const;
      await api.expect(201, "PUT", `/agents/${api.prefix}`, {
        model: "local:my-model",
        tools: ["calculator"],
      });
      for (let call = 1; call <= 6; call++) {
        const toolCall = { id: `call_${call}`, name: "calculator", input: { expression: "1+1" } };
        api.fake.enqueue(answerTo(model, { toolCall }));
      }
      api.fake.enqueue(answerTo(model, { text: "Two" }));
      const { run_id } = await api.expect(200, "POST", `/agents/${api.prefix}/runs`, { input: "Hi" });
      const [anomaly] = await api.until(
        () => api.expect(200, "GET", `/anomalies?agent_id=${api.prefix}`),
        (found) => found.length > 0,
      );
      assert.deepEqual([anomaly.kind, anomaly.severity, anomaly.run_id], [
        "repeated_tool_call",
        "warning",
        run_id,
      ]);
      await api.until(
        () => Promise.resolve(api.hooks.received.filter(({ body }) => body.includes(anomaly.anomaly_id))),
        (anomalies) => anomalies.length > 0,
      );
      await api.until(
        () => api.expect(200, "GET", "/live?once=true"),
        ({ anomalies }) =>
          anomalies.some(({ anomaly_id }: { anomaly_id: string }) => anomaly_id === anomaly.anomaly_id),
      );
      await api.refused(400, "invalid", "GET", "/anomalies?from=yesterday");
    },
  },
];
