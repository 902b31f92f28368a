export { Ajv2020, type ValidateFunction } from "npm:ajv@8.20.0/dist/2020.js";
