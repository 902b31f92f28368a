export * from "npm:preact@11.2.0";
