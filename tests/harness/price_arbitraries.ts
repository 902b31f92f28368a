import fc from "#dev/fast_check.ts";
import type { Rates } from "../../src/pricing/rates.ts";
import { type Usage, USAGE_DETAILS, usageOf } from "../../src/pricing/usage/usage.ts";

const anyPrice = fc.bigInt(0n, 100_000_000n);

const anyTier = fc.record({
  input: anyPrice,
  output: anyPrice,
  reasoning: anyPrice,
  cacheRead: anyPrice,
  cacheWrite: anyPrice,
  cacheWrite1h: anyPrice,
  request: fc.option(anyPrice, { nil: undefined }),
  details: fc.dictionary(fc.constantFrom(...USAGE_DETAILS), anyPrice),
});

/** Rates of one to three tiers. */
export const anyRates: fc.Arbitrary<Rates> = fc.array(anyTier, { minLength: 1, maxLength: 3 }).map((
  tiers,
) => ({
  source: "test",
  tiers: tiers.map((tier, i) => ({ ...tier, aboveInputTokens: i === 0 ? -1 : i * 200_000 })),
}));

const anyCount = fc.oneof(fc.nat(100), fc.nat(300_000));

/** The quantities of a usage that are billed at one rate each. */
const anyLeaves = fc.record({
  input: anyCount,
  cache_read: anyCount,
  cache_write: anyCount,
  cache_write_1h: anyCount,
  output: anyCount,
  reasoning: anyCount,
});

/** A usage of text whose parts fit into their wholes. */
export const anyUsage: fc.Arbitrary<Usage> = anyLeaves.map((leaf) => ({
  inputTokens: leaf.input + leaf.cache_read + leaf.cache_write + leaf.cache_write_1h,
  outputTokens: leaf.output + leaf.reasoning,
  cacheReadTokens: leaf.cache_read,
  cacheWriteTokens: leaf.cache_write + leaf.cache_write_1h,
  cacheWrite1hTokens: leaf.cache_write_1h,
  reasoningTokens: leaf.reasoning,
}));

/** The same with some of the details, as quantities that are billed at one rate each, and as a usage. */
export const anyDetailedUsage = fc.tuple(
  anyLeaves,
  fc.dictionary(fc.constantFrom(...USAGE_DETAILS), anyCount),
)
  .map(([leaf, more]) => {
    const of = (name: typeof USAGE_DETAILS[number]) => more[name] ?? 0;
    const inputAudio = of("input_audio_tokens") + of("cache_read_audio_tokens");
    const inputImage = of("input_image_tokens") + of("cache_read_image_tokens");
    const cacheRead = leaf.cache_read + of("cache_read_audio_tokens") + of("cache_read_image_tokens");
    const cacheWrite = leaf.cache_write + leaf.cache_write_1h + of("cache_write_12h_tokens");
    const usage = usageOf({
      inputTokens: leaf.input + cacheRead + cacheWrite + of("input_audio_tokens") + of("input_image_tokens") +
        of("input_video_tokens"),
      outputTokens: leaf.output + leaf.reasoning + of("output_audio_tokens") + of("output_image_tokens") +
        of("output_video_tokens"),
      cacheReadTokens: cacheRead,
      cacheWriteTokens: cacheWrite,
      cacheWrite1hTokens: leaf.cache_write_1h,
      reasoningTokens: leaf.reasoning,
      details: { ...more, input_audio_tokens: inputAudio, input_image_tokens: inputImage },
    });
    return { leaf, more, usage };
  });
