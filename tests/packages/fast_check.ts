import fc from "npm:fast-check@4.10.2";
import { cases } from "../harness/thorough.ts";

// A property that names no number is tried so often.
fc.configureGlobal({ numRuns: cases(16) });

export default fc;
