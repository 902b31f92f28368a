/** The parts of addresses that name the region in which a provider serves all calls to them. */
const REGIONS: readonly RegExp[] = [
  // Vertex: https://us-east5-aiplatform.googleapis.com/v1/projects/P/locations/us-east5/endpoints/openapi
  /\/locations\/([a-z0-9-]+)(?:\/|$)/,
  /^https?:\/\/([a-z]+-[a-z]+\d+)-aiplatform\.googleapis\.com(?:[:/]|$)/,
  /^https?:\/\/aiplatform\.([a-z]+)\.rep\.googleapis\.com(?:[:/]|$)/,
  // Bedrock: https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1, https://bedrock-mantle.us-east-1.api.aws/v1
  /^https?:\/\/bedrock-(?:runtime|mantle)(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com|api\.aws)(?:[:/]|$)/,
  // OpenAI: https://eu.api.openai.com/v1
  /^https?:\/\/([a-z]{2})\.api\.openai\.com(?:[:/]|$)/,
];

/** Returns the region that the address of a provider names: `us-east5`, `eu`. */
export function regionOfAddress(baseUrl: string): string | undefined {
  const lower = baseUrl.toLowerCase();
  for (const pattern of REGIONS) {
    const region = pattern.exec(lower)?.[1];
    if (region !== undefined) return region;
  }
  return undefined;
}
