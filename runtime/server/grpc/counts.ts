/** Counts what became of every call of the gRPC listener, and of every message of its streams. */
import { head, line, type MetricLine, metric } from "../../base/exposition.ts";
import type { CodeName } from "./codes.ts";

export class CallCounts {
  readonly #calls = new Map<string, number>();
  readonly #messages = new Map<string, number>();
  #inFlight = 0;

  begin(): void {
    this.#inFlight++;
  }

  /** @param method such as `ModelInfer`. */
  end(method: string, code: CodeName): void {
    this.#inFlight--;
    const key = `${method} ${code}`;
    this.#calls.set(key, (this.#calls.get(key) ?? 0) + 1);
  }

  /** An inference request that came on a stream is over. */
  onMessage(code: CodeName): void {
    this.#messages.set(code, (this.#messages.get(code) ?? 0) + 1);
  }

  lines(connections: number, unsentBytes: number): MetricLine[] {
    const calls = "stratagem_grpc_requests_total";
    const messages = "stratagem_grpc_stream_messages_total";
    return [
      head(calls, "counter", "gRPC calls that are over, by method and status code"),
      ...[...this.#calls].sort(byKey).map(([key, count]) => {
        const [method = "", code = ""] = key.split(" ");
        return line(calls, { method, code }, count);
      }),
      head(messages, "counter", "Inference requests of gRPC streams, by status code"),
      ...[...this.#messages].sort(byKey).map(([code, count]) => line(messages, { code }, count)),
      ...metric("stratagem_grpc_requests_in_flight", "gauge", "gRPC calls open", this.#inFlight),
      ...metric(
        "stratagem_grpc_unsent_bytes",
        "gauge",
        "Bytes of gRPC answers that clients have not taken",
        unsentBytes,
      ),
      ...metric("stratagem_grpc_connections", "gauge", "gRPC connections open", connections),
    ];
  }
}

function byKey([one]: readonly [string, number], [other]: readonly [string, number]): number {
  return one < other ? -1 : 1;
}
