/** A decision log on standard output, in lines, as whoever gathers what containers say takes it. */
import type { Writable } from "node:stream";
import { causeOf } from "../../base/http-client.ts";
import { type Delivery, type LogPlace, TAKEN } from "./log-place.ts";

export class StreamPlace implements LogPlace {
  readonly name: string;
  readonly #stream: Writable;

  constructor(stream: Writable, name: string) {
    this.name = name;
    this.#stream = stream;
    // Its reader is gone: what is written says so too.
    stream.on("error", () => {});
  }

  /** Kept once its reader has it, so that no more than one batch waits in the stream. */
  send(text: string, signal: AbortSignal): Promise<Delivery> {
    return new Promise((resolve) => {
      const onAbort = () => resolve({ kind: "refused", reason: "its reader is behind" });
      signal.addEventListener("abort", onAbort, { once: true });
      this.#stream.write(text, (error) => {
        signal.removeEventListener("abort", onAbort);
        resolve(error ? { kind: "refused", reason: causeOf(error) } : TAKEN);
      });
    });
  }
}
