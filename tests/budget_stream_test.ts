import assert from "node:assert/strict";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { streamText } from "ai";
import { toUsd } from "../src/kernel/money.ts";
import { meter } from "../src/runner/mod.ts";
import { createBooking } from "./harness/booking.ts";
import { checkAllFree, RUN, settings } from "./harness/budget_settings.ts";
import {
  callOptions,
  endParts,
  fakeModel,
  type StreamAnswer,
  textParts,
  turns,
} from "./harness/fake_model.ts";

/** The outcome of a streamed call, and the number of its calls in the ledger then. */
interface StreamFate {
  name: string;
  stream: StreamAnswer;
  read(model: LanguageModelV4, signal: AbortSignal, abort: () => void): Promise<void>;
  booked: number;
}

const readAll = async (model: LanguageModelV4, abortSignal: AbortSignal) => {
  const { stream } = await model.doStream(callOptions("hello", { maxOutputTokens: 100, abortSignal }));
  for await (const _part of stream);
};

const cancelHalfWay: StreamFate["read"] = async (model, abortSignal, abort) => {
  const result = streamText({ model, prompt: "hello", maxOutputTokens: 100, abortSignal, onError() {} });
  for await (const part of result.fullStream) if (part.type === "text-delta") abort();
};

const streamFates: StreamFate[] = [
  {
    name: "is read to its end",
    async *stream() {
      yield* textParts("hello");
      yield* endParts({ inputTokens: 10, outputTokens: 10 });
    },
    read: readAll,
    booked: 1,
  },
  {
    name: "fails in the middle",
    async *stream() {
      yield* textParts("hello");
      throw new Error("connection reset");
    },
    read: (model, signal) => assert.rejects(readAll(model, signal), /connection reset/),
    booked: 1,
  },
  {
    name: "ends before it begins",
    async *stream() {},
    read: (model, signal) => assert.rejects(readAll(model, signal)),
    booked: 1,
  },
  {
    name: "is refused before it begins",
    // deno-lint-ignore require-yield -- it has no part
    async *stream() {
      throw Object.assign(new Error("Slow down"), { statusCode: 429 });
    },
    read: (model, signal) => assert.rejects(readAll(model, signal)),
    booked: 0,
  },
  {
    name: "is abandoned by its reader",
    async *stream() {
      yield* textParts("hello", "and", "more");
      await turns(10_000);
    },
    async read(model) {
      const { stream } = await model.doStream(callOptions("hello", { maxOutputTokens: 100 }));
      for await (const part of stream) if (part.type === "text-delta") break;
    },
    booked: 1,
  },
  {
    name: "is cancelled in the middle",
    async *stream({ abortSignal }) {
      yield* textParts("hello");
      await turns(10_000, abortSignal);
    },
    read: cancelHalfWay,
    booked: 1,
  },
  {
    name: "is cancelled in the middle and ignores it",
    async *stream() {
      yield* textParts("hello");
      await new Promise(() => {});
    },
    read: cancelHalfWay,
    booked: 1,
  },
];

for (const { name, ignore, create } of settings.filter((setting) => !setting.name.endsWith("file"))) {
  for (const mode of ["stop", "strict"] as const) {
    for (const fate of streamFates) {
      Deno.test({
        name:
          `${name}: a ${mode} stream that ${fate.name} is booked if it cost something, and leaves no reservation`,
        ignore,
        async fn() {
          await using database = await create();
          const ctx = await createBooking(await database.open());
          const limit = 10_000_000n;
          const fake = fakeModel(() => Promise.reject(new Error("not streamed")), fate.stream);
          const model = meter(ctx, fake.model, {
            agentId: "agent",
            runId: RUN,
            provider: "local",
            costBudgetUsd: toUsd(limit),
            budgetMode: mode,
          });
          const controller = new AbortController();
          await fate.read(model, controller.signal, () => controller.abort());
          const count = async () =>
            Number((await ctx.store.read({ sql: "SELECT count(*) FROM calls" })).rows[0]![0]);
          for (let i = 0; i < 5_000 && await count() < fate.booked; i++) await turns(1);
          assert.equal(await count(), fate.booked);
          await checkAllFree(ctx, limit);
        },
      });
    }
  }
}
