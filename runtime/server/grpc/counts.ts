/** Counts what became of every call of the gRPC listener, and of every message of its streams. */
import type { MetricLine } from "../../base/exposition.ts";
import { bufferedByteLines, openLines, requestCountLines } from "../../base/metric-families.ts";
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

  /** Counts a call that ended before its message was whole. */
  refuse(path: string, code: CodeName): void {
    this.begin();
    this.end(path.slice(path.lastIndexOf("/") + 1), code);
  }

  /** Called when an inference request of a stream is over. */
  onMessage(code: CodeName): void {
    this.#messages.set(code, (this.#messages.get(code) ?? 0) + 1);
  }

  lines(connections: number, unsentBytes: number): MetricLine[] {
    const calls = [...this.#calls].sort(byKey).map(([key, count]) => {
      const [method = "", code = ""] = key.split(" ");
      return [{ protocol: "grpc", method, code }, count] as const;
    });
    const messages = [...this.#messages].sort(byKey).map(([code, count]) => {
      return [{ protocol: "grpc_stream", code }, count] as const;
    });
    return [
      ...requestCountLines([...calls, ...messages]),
      ...openLines("grpc", { connections, requests: this.#inFlight }),
      ...bufferedByteLines("grpc_answers", unsentBytes),
    ];
  }
}

function byKey([one]: readonly [string, number], [other]: readonly [string, number]): number {
  return one < other ? -1 : 1;
}
