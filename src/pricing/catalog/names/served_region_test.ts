import assert from "node:assert/strict";
import { regionIn } from "./model_aliases.ts";
import { regionOfAddress } from "./served_region.ts";

const ADDRESSES: readonly [baseUrl: string, region: string | undefined][] = [
  [
    "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/endpoints/openapi",
    "us-east5",
  ],
  ["https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi", "global"],
  [
    "https://aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/endpoints/openapi/",
    "europe-west4",
  ],
  ["https://europe-west4-aiplatform.googleapis.com/v1", "europe-west4"],
  ["https://aiplatform.eu.rep.googleapis.com/v1", "eu"],
  ["https://aiplatform.googleapis.com/v1", undefined],
  ["https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1", "eu-central-1"],
  ["https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/openai/v1", "us-gov-west-1"],
  ["https://bedrock-mantle.us-east-1.api.aws/v1", "us-east-1"],
  ["https://EU.api.openai.com/v1", "eu"],
  ["https://us.api.openai.com/v1", "us"],
  ["https://api.openai.com/v1", undefined],
  ["https://api.anthropic.com/v1", undefined],
  ["https://example.com/?next=https://eu.api.openai.com/v1", undefined],
  ["https://eu.api.openai.com.example.com/v1", undefined],
];

for (const [baseUrl, region] of ADDRESSES) {
  Deno.test(`the address ${baseUrl} ${region === undefined ? "names no region" : `is in ${region}`}`, () => {
    assert.equal(regionOfAddress(baseUrl), region);
  });
}

Deno.test("the path of a model may name its region", () => {
  const paths: Record<string, string | undefined> = {
    "projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-5": "us-east5",
    "arn:aws:bedrock:eu-west-3:123456789012:inference-profile/eu.amazon.nova-lite-v1:0": "eu-west-3",
    "arn:aws-us-gov:bedrock:us-gov-east-1::foundation-model/anthropic.claude-3-5-sonnet-20240620-v1:0":
      "us-gov-east-1",
    "publishers/anthropic/models/claude-opus-5": undefined,
    "gpt-5": undefined,
  };
  for (const [path, region] of Object.entries(paths)) assert.equal(regionIn(path), region, path);
});
