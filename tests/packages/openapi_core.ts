export {
  createConfig,
  lintFromString,
  loadConfig,
  type NormalizedProblem,
  parseYaml,
} from "npm:@redocly/openapi-core@2.64.0";
