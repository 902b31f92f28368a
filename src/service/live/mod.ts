/** The live overview: its state, what has changed in it, and one reading for all streams of a process. */
export { deltaOf } from "./read_live_state.ts";
export { createLiveReader, type LiveReader, type LiveReading } from "./live_reader.ts";
