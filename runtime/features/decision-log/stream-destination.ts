/** Decision log on standard output in lines, for collectors of container logs. */
import { causeOf } from "../../base/http-client.ts";
import type { LineWriter } from "../../server/logs/line-writer.ts";
import { type Delivery, type LogDestination, TAKEN } from "./log-destination.ts";

export class StreamDestination implements LogDestination {
  readonly name = "standard output";
  readonly #writer: LineWriter;

  constructor(writer: LineWriter) {
    this.#writer = writer;
  }

  /** Resolves once the text is written, so that at most one batch waits. */
  send(text: string, signal: AbortSignal): Promise<Delivery> {
    return new Promise((resolve) => {
      const onAbort = () => resolve({ kind: "refused", reason: "the reader is too slow" });
      signal.addEventListener("abort", onAbort, { once: true });
      this.#writer.write(text, (error) => {
        signal.removeEventListener("abort", onAbort);
        resolve(error === null ? TAKEN : { kind: "refused", reason: causeOf(error) });
      });
    });
  }
}
