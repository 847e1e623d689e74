/** Decision log on standard output in lines, for collectors of container logs. */
import type { Writable } from "node:stream";
import { causeOf } from "../../base/http-client.ts";
import { type Delivery, type LogDestination, TAKEN } from "./log-destination.ts";

export class StreamDestination implements LogDestination {
  readonly name: string;
  readonly #stream: Writable;

  constructor(stream: Writable, name: string) {
    this.name = name;
    this.#stream = stream;
    // Write errors are reported to the callback of each write.
    stream.on("error", () => {});
  }

  /** Resolves once the stream has written the text, so that at most one batch waits in it. */
  send(text: string, signal: AbortSignal): Promise<Delivery> {
    return new Promise((resolve) => {
      const onAbort = () => resolve({ kind: "refused", reason: "the reader is too slow" });
      signal.addEventListener("abort", onAbort, { once: true });
      this.#stream.write(text, (error) => {
        signal.removeEventListener("abort", onAbort);
        resolve(error ? { kind: "refused", reason: causeOf(error) } : TAKEN);
      });
    });
  }
}
