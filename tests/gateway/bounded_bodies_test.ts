import assert from "node:assert/strict";
import { openTestPurser } from "../harness/test_purser.ts";
import { type PlainProvider, startPlainProvider } from "./plain_provider.ts";

/** A strict budget takes known fields for text, at every depth of a request: others may cost more than their bytes. */

const PATHS = {
  chat: "/openai/v1/chat/completions",
  responses: "/openai/v1/responses",
  messages: "/anthropic/v1/messages",
};
const GEMINI = "/gemini/v1beta/models/gemini-2.5-flash:generateContent";
const CHAT = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] };

async function withStrictBudget(
  test: (
    provider: PlainProvider,
    send: (path: string, body: unknown) => Promise<{ status: number; message: string }>,
  ) => Promise<void>,
): Promise<void> {
  await using provider = startPlainProvider(() => Response.json({ choices: [] }));
  await using purser = await openTestPurser({ fake: provider });
  await purser.api("POST", "/budgets", { name: "Day", limit_usd: 9, per: "day", mode: "strict" });
  await test(provider, async (path, body) => {
    const init = { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) };
    const response = await purser.app.request(path, init);
    const { error } = await response.json();
    return { status: response.status, message: error?.message ?? "" };
  });
}

/** Requests with a placeholder, `"@": 0`, where an object of their API stands, at every depth. */
const NESTED: [path: string, body: string][] = [
  [PATHS.chat, '{"model":"gpt-4o-mini","max_tokens":1,"messages":[{"role":"user","content":"Hi"}],"@":0}'],
  [PATHS.chat, '{"model":"gpt-4o-mini","max_tokens":1,"messages":[{"role":"user","content":"Hi","@":0}]}'],
  [
    PATHS.chat,
    '{"model":"gpt-4o-mini","max_tokens":1,"messages":[{"content":[{"type":"text","text":"Hi","@":0}]}]}',
  ],
  [PATHS.chat, '{"model":"gpt-4o-mini","max_tokens":1,"messages":[{"content":[{"text":"Hi","@":0}]}]}'],
  [PATHS.chat, '{"model":"gpt-4o-mini","max_tokens":1,"messages":[{"content":[{"@":0}]}]}'],
  [PATHS.chat, '{"model":"gpt-4o-mini","max_tokens":1,"messages":[{"content":{"@":0}}]}'],
  [
    PATHS.chat,
    '{"model":"gpt-4o-mini","max_tokens":1,"messages":[{"role":"assistant","tool_calls":[{"id":"1","@":0}]}]}',
  ],
  [
    PATHS.chat,
    '{"model":"gpt-4o-mini","max_tokens":1,"messages":[{"tool_calls":[{"function":{"name":"f","@":0}}]}]}',
  ],
  [PATHS.chat, '{"model":"gpt-4o-mini","max_tokens":1,"messages":[{"name":{"@":0}}]}'],
  [PATHS.chat, '{"model":"gpt-4o-mini","max_tokens":1,"messages":[],"tools":[{"type":"function","@":0}]}'],
  [
    PATHS.chat,
    '{"model":"gpt-4o-mini","max_tokens":1,"messages":[],"tools":[{"type":"function","function":{"@":0}}]}',
  ],
  [
    PATHS.chat,
    '{"model":"gpt-4o-mini","max_tokens":1,"messages":[],"tool_choice":{"type":"function","@":0}}',
  ],
  [PATHS.chat, '{"model":"gpt-4o-mini","max_tokens":1,"messages":[],"reasoning":{"effort":"low","@":0}}'],
  [PATHS.responses, '{"model":"gpt-4o-mini","max_output_tokens":1,"input":"Hi","@":0}'],
  [
    PATHS.responses,
    '{"model":"gpt-4o-mini","max_output_tokens":1,"input":[{"role":"user","content":"Hi","@":0}]}',
  ],
  [
    PATHS.responses,
    '{"model":"gpt-4o-mini","max_output_tokens":1,"input":[{"content":[{"type":"input_text","text":"Hi","@":0}]}]}',
  ],
  [PATHS.responses, '{"model":"gpt-4o-mini","max_output_tokens":1,"input":[{"content":[{"@":0}]}]}'],
  [
    PATHS.responses,
    '{"model":"gpt-4o-mini","max_output_tokens":1,"input":[{"type":"function_call_output","output":[{"@":0}]}]}',
  ],
  [PATHS.responses, '{"model":"gpt-4o-mini","max_output_tokens":1,"input":"Hi","text":{"format":{"@":0}}}'],
  [PATHS.responses, '{"model":"gpt-4o-mini","max_output_tokens":1,"input":"Hi","reasoning":{"@":0}}'],
  [
    PATHS.responses,
    '{"model":"gpt-4o-mini","max_output_tokens":1,"input":"Hi","tools":[{"type":"function","@":0}]}',
  ],
  [
    PATHS.messages,
    '{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"user","content":"Hi","@":0}]}',
  ],
  [
    PATHS.messages,
    '{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"content":[{"type":"text","text":"Hi","@":0}]}]}',
  ],
  [PATHS.messages, '{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"content":[{"@":0}]}]}'],
  [
    PATHS.messages,
    '{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"content":[{"type":"tool_result","content":[{"@":0}]}]}]}',
  ],
  [
    PATHS.messages,
    '{"model":"claude-haiku-4-5","max_tokens":1,"messages":[],"system":[{"type":"text","@":0}]}',
  ],
  [PATHS.messages, '{"model":"claude-haiku-4-5","max_tokens":1,"messages":[],"tools":[{"name":"f","@":0}]}'],
  [PATHS.messages, '{"model":"claude-haiku-4-5","max_tokens":1,"messages":[],"thinking":{"@":0}}'],
  [PATHS.messages, '{"model":"claude-haiku-4-5","max_tokens":1,"messages":[],"output_config":{"@":0}}'],
  [GEMINI, '{"generationConfig":{"maxOutputTokens":1},"contents":[{"role":"user","parts":[],"@":0}]}'],
  [GEMINI, '{"generationConfig":{"maxOutputTokens":1},"contents":[{"parts":[{"text":"Hi","@":0}]}]}'],
  [GEMINI, '{"generationConfig":{"maxOutputTokens":1},"contents":{"parts":{"@":0}}}'],
  [
    GEMINI,
    '{"generationConfig":{"maxOutputTokens":1},"contents":[{"parts":[{"functionResponse":{"response":{},"parts":[{"@":0}]}}]}]}',
  ],
  [GEMINI, '{"generationConfig":{"maxOutputTokens":1,"thinkingConfig":{"@":0}},"contents":[]}'],
  [
    GEMINI,
    '{"generationConfig":{"maxOutputTokens":1},"contents":[],"system_instruction":{"parts":[{"@":0}]}}',
  ],
  [
    GEMINI,
    '{"generationConfig":{"maxOutputTokens":1},"contents":[],"tools":[{"functionDeclarations":[{"@":0}]}]}',
  ],
  ["/openai/v1/embeddings", '{"model":"text-embedding-3-small","input":"Hi","@":0}'],
];

/** Members that a server may take for more input than their bytes, or for another one than was looked at. */
const OPEN = [
  '"images":["aGk="]',
  '"document_url":"https://a/b.pdf"',
  '"file_id":"file-1"',
  '"Type":"image_url"',
  '"TYPE":"file"',
  '"Image_URL":{"url":"https://a/b.png"}',
  '"imageUrl":"https://a/b.png"',
  '"video_url":{"url":"https://a/b.mp4"}',
  '"input_audio":{"data":"aGk="}',
  '"file":{"file_id":"file-1"}',
  '"source":{"type":"url","url":"https://a/b.png"}',
  '"fileData":{"fileUri":"gs://a"}',
  '"inline_data":{"data":"aGk="}',
  '"attachments":[{"file_id":"file-1"}]',
  '"unheard_of":1',
  '"a":1,"a":2',
  '"a":1,"\\u0061":2',
];

Deno.test("a strict budget refuses what is not known to be text, at every depth of a request", () =>
  withStrictBudget(async (provider, send) => {
    let count = 0;
    for (const [path, body] of NESTED) {
      for (const member of OPEN) {
        const sent = body.replace('"@":0', () => member);
        const { status, message } = await send(path, sent);
        // At the top, a name that is there twice is refused without a budget, too.
        assert.ok(
          status === 402 || (status === 400 && /twice/.test(message)),
          `${sent}: ${status} ${message}`,
        );
        assert.doesNotMatch(message, /sets no output limit/, sent);
        count++;
      }
    }
    assert.deepEqual(provider.requests, []);
    assert.ok(count > 600, `${count}`);
    const twice: [path: string, body: string][] = [
      [
        PATHS.chat,
        '{"model":"gpt-4o-mini","max_tokens":1,"messages":[{"content":[{"type":"image_url","type":"text"}]}]}',
      ],
      [
        PATHS.messages,
        '{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"content":[{"type":"image","\\u0074ype":"text","text":"a"}]}]}',
      ],
      [GEMINI, '{"generationConfig":{"maxOutputTokens":1},"contents":[{"parts":[{"text":"a","text":"b"}]}]}'],
      [
        PATHS.responses,
        '{"model":"gpt-4o-mini","max_output_tokens":1,"input":[{"content":[{"type":"input_file","type":"input_text"}]}]}',
      ],
    ];
    for (const [path, body] of twice) {
      const { status, message } = await send(path, body);
      assert.deepEqual(
        [status, /"(type|text)" twice, of which the provider/.test(message)],
        [402, true],
        body,
      );
    }
    const labels: [path: string, body: object][] = [
      [PATHS.chat, { ...CHAT, max_tokens: 1, metadata: { tags: ["paid"] } }], // of LiteLLM
      [PATHS.chat, { ...CHAT, max_tokens: 1, logit_bias: { a: {} } }],
      [PATHS.responses, {
        model: "gpt-4o-mini",
        max_output_tokens: 1,
        input: "Hi",
        metadata: { a: { b: 1 } },
      }],
      [GEMINI, { generationConfig: { maxOutputTokens: 1 }, contents: [], labels: { a: [] } }],
    ];
    for (const [path, body] of labels) {
      const { status, message } = await send(path, body);
      assert.deepEqual([status, /its (metadata|logit_bias|labels) has the field "(tags|a)"/.test(message)], [
        402,
        true,
      ]);
    }
    const nested =
      '{"model":"gpt-4o-mini","max_tokens":1,"messages":[{"content":[{"text":"Hi","images":[]}]}]}';
    assert.match(
      (await send(PATHS.chat, nested)).message,
      /its messages\[0\]\.content\[0\] has the field "images", whose cost is not known/,
    );
    assert.deepEqual(provider.requests, []);
  }));

Deno.test("a strict budget passes what clients send as text, with tools and what models have answered", () =>
  withStrictBudget(async (_provider, send) => {
    const schema = { type: "object", properties: { images: { type: "array" }, file_id: {} } };
    const cache_control = { type: "ephemeral", ttl: "1h" };
    const bodies: [path: string, body: unknown][] = [
      [PATHS.chat, {
        ...CHAT,
        max_tokens: 9,
        messages: [
          { role: "system", content: [{ type: "text", text: "Hi" }] },
          { role: "user", content: "Hi", name: "ada" },
          {
            role: "assistant",
            content: null,
            refusal: null,
            reasoning_content: "Hm",
            tool_calls: [
              { id: "1", type: "function", index: 0, function: { name: "f", arguments: '{"images":1}' } },
              { id: "2", type: "custom", custom: { name: "g", input: "x" } },
            ],
          },
          { role: "tool", tool_call_id: "1", content: [{ type: "text", text: "{}" }] },
        ],
        tools: [
          { type: "function", function: { name: "f", description: "F", parameters: schema, strict: true } },
          { type: "custom", custom: { name: "g", format: { type: "grammar", grammar: { syntax: "lark" } } } },
        ],
        tool_choice: { type: "function", function: { name: "f" } },
        response_format: { type: "json_schema", json_schema: { name: "a", schema } },
        logit_bias: { 50256: -100 },
        metadata: { images: "2" },
        stream_options: { include_usage: true },
        reasoning: { effort: "low" },
      }],
      [PATHS.responses, {
        model: "gpt-4o-mini",
        max_output_tokens: 9,
        input: [
          { role: "user", content: [{ type: "input_text", text: "Hi" }] },
          {
            type: "message",
            id: "msg_1",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: "Hi", annotations: [], logprobs: [] }],
          },
          {
            type: "function_call",
            id: "fc_1",
            call_id: "1",
            name: "f",
            arguments: "{}",
            status: "completed",
          },
          { type: "function_call_output", call_id: "1", output: [{ type: "input_text", text: "{}" }] },
        ],
        tools: [{ type: "function", name: "f", description: "F", parameters: schema, strict: true }],
        tool_choice: { type: "function", name: "f" },
        text: { format: { type: "json_schema", name: "a", schema, strict: true }, verbosity: "low" },
        reasoning: { effort: "low", summary: "auto" },
        metadata: { a: "b" },
        include: ["reasoning.encrypted_content"],
      }],
      [PATHS.messages, {
        model: "claude-haiku-4-5",
        max_tokens: 9,
        system: [{ type: "text", text: "Hi", cache_control }],
        messages: [
          { role: "user", content: "Hi" },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "Hm", signature: "x" },
              { type: "redacted_thinking", data: "x" },
              { type: "text", text: "Hi", citations: null },
              { type: "tool_use", id: "1", name: "f", input: { images: [{ type: "image", file_id: "1" }] } },
            ],
          },
          {
            role: "user",
            content: [{
              type: "tool_result",
              tool_use_id: "1",
              is_error: false,
              content: [{ type: "text", text: "{}", cache_control }],
            }],
          },
        ],
        tools: [{ name: "f", description: "F", input_schema: schema, cache_control, strict: true }],
        tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true },
        thinking: { type: "enabled", budget_tokens: 1024, display: "omitted" },
        metadata: { user_id: "u" },
        output_config: { effort: "low", format: { type: "json_schema", schema } },
      }],
      [GEMINI, {
        contents: [
          { role: "user", parts: [{ text: "Hi" }] },
          {
            role: "model",
            parts: [
              { thought: true, text: "Hm", thoughtSignature: "x" },
              { functionCall: { id: "1", name: "f", args: { images: [] } } },
              { executable_code: { language: "PYTHON", code: "1" } },
            ],
          },
          {
            role: "user",
            parts: [{ function_response: { id: "1", name: "f", response: { file_id: "1" } } }],
          },
        ],
        systemInstruction: { parts: [{ text: "Hi" }] },
        tools: [{ functionDeclarations: [{ name: "f", description: "F", parameters: schema }] }],
        toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
        safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
        generationConfig: {
          maxOutputTokens: 9,
          responseMimeType: "application/json",
          responseSchema: schema,
          thinking_config: { thinking_budget: 0 },
        },
        labels: { a: "b" },
      }],
    ];
    for (const [path, body] of bodies) {
      const { status, message } = await send(path, body);
      assert.equal(status, 200, message);
    }
  }));
