export { parseAllDocuments } from "npm:yaml@2.9.1";
