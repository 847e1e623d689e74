/** A front end as a scaler sees it: what its `/metrics` says, counted up by the test. */
import type { LoadWatch } from "../../runtime/scaler/load-watch.ts";

export class ToldTraffic {
  rows = 0;
  dropped = 0;
  rejected = 0;
  isAway = false;
  readonly #application: string;

  constructor(application: string) {
    this.#application = application;
  }

  text(): string {
    if (this.isAway) throw new Error("connect ECONNREFUSED");
    const model = `model="${this.#application}"`;
    return [
      "# TYPE stratagem_queries_total counter",
      `stratagem_queries_total{${model},outcome="satisfied"} ${this.rows - this.dropped}`,
      `stratagem_queries_total{${model},outcome="dropped"} ${this.dropped}`,
      `stratagem_queries_total{model="another",outcome="satisfied"} 1e9`,
      `nv_inference_request_success{${model},version="1"} ${this.rows - this.dropped}`,
      `nv_inference_request_failure{${model},version="1",reason="REJECTED"} ${this.rejected}`,
    ].join("\n");
  }
}

/** A clock that tests set. */
export class Clock {
  ms = 0;
  readonly now = (): number => this.ms;
}

/** Looks each second while rows come at a steady rate. */
export async function pass(
  seconds: number,
  rowsPerSecond: number,
  { clock, traffic, watch }: { clock: Clock; traffic: ToldTraffic; watch: LoadWatch },
): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.ms += 1000;
    traffic.rows += rowsPerSecond;
    await watch.look();
  }
}
