/** Whether what the clients counted is what the server counted. */
import type { Metrics } from "../../experiments/harness/metrics.ts";

/** What clients know of their requests. */
export class SoakBooks {
  /** Answers by status. */
  readonly byStatus = new Map<string, number>();
  /** Requests that were left without waiting for the answer. */
  left = 0;
  /** Requests for inference, the left ones included. */
  inferences = 0;

  onAnswer(status: string, count = 1): void {
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + count);
  }

  get sent(): number {
    return [...this.byStatus.values()].reduce((sum, count) => sum + count, this.left);
  }

  /**
   * What does not add up, in words.
   * @param metrics asked for by a request that is in the books, and was in flight then.
   */
  differences(metrics: Metrics): string[] {
    const found: string[] = [];
    const codes = httpCodesOf(metrics);
    const counted = [...codes.values()].reduce((sum, count) => sum + count, 1);
    if (counted !== this.sent) found.push(`clients sent ${this.sent}, the server saw ${counted}`);
    codes.set("200", (codes.get("200") ?? 0) + 1);
    // A request that was left is in the counter of its answer if that was written before.
    for (const status of new Set([...codes.keys(), ...this.byStatus.keys()])) {
      const more = (codes.get(status) ?? 0) - (this.byStatus.get(status) ?? 0);
      if (more < 0 || more > this.left) {
        found.push(`${status}: clients ${this.byStatus.get(status)}, server ${codes.get(status)}`);
      }
    }
    const success = sumOf(metrics, "nv_inference_request_success");
    const failure = sumOf(metrics, "nv_inference_request_failure");
    if (success + failure !== this.inferences) {
      found.push(
        `clients asked for ${this.inferences} inferences, the server answered ${success} and ` +
          `failed ${failure}`,
      );
    }
    const inFlight = metrics.get('stratagem_requests_in_flight{protocol="http"}');
    if (inFlight !== 1)
      found.push(`${inFlight} requests in flight at the end, expected the asking`);
    return found;
  }
}

/** HTTP requests that are over, by status. */
function httpCodesOf(metrics: Metrics): Map<string, number> {
  const values = new Map<string, number>();
  for (const [series, value] of metrics) {
    const code = /^stratagem_requests_total\{protocol="http",code="(\w+)"/.exec(series)?.[1];
    if (code !== undefined) values.set(code, value);
  }
  return values;
}

function sumOf(metrics: Metrics, name: string): number {
  let sum = 0;
  for (const [series, value] of metrics) if (series.startsWith(`${name}{`)) sum += value;
  return sum;
}
