export { FetchingJSONSchemaStore, InputData, JSONSchemaInput, quicktype } from "npm:quicktype-core@26.0.0";
