/** Sampling of traces, which can be changed while the server runs. */
import type { TraceParent } from "../../../server/requests/trace-context.ts";
import { type SAMPLERS, type Sampler, samplerOf } from "./sampler.ts";

export interface SamplingState {
  readonly isOn: boolean;
  /** Share of the root traces that are sampled, 0 to 1. */
  readonly ratio: number;
}

export class Sampling {
  /** State at the start of the server. */
  readonly started: SamplingState;
  readonly #byRatio: (typeof SAMPLERS)[number];
  #state: SamplingState;
  #sampler: Sampler;

  /** @param name initial sampler. @param ratio see `samplerOf`. */
  constructor(name: (typeof SAMPLERS)[number], ratio: number) {
    const isParentBased = name.startsWith("parentbased_");
    this.#byRatio = isParentBased ? "parentbased_traceidratio" : "traceidratio";
    const isByRatio = name === this.#byRatio;
    const otherRatio = name === "parentbased_always_off" ? 0 : 1;
    this.started = { isOn: name !== "always_off", ratio: isByRatio ? ratio : otherRatio };
    this.#state = this.started;
    this.#sampler = samplerOf(name, ratio);
  }

  get state(): SamplingState {
    return this.#state;
  }

  /** Applies to requests from now on. Requests with a parent still follow their parent. */
  change(state: SamplingState): void {
    this.#state = state;
    this.#sampler = state.isOn ? samplerOf(this.#byRatio, state.ratio) : () => false;
  }

  /** @param parent undefined for the root of a trace. */
  sample(traceId: string, parent: TraceParent | undefined): boolean {
    return this.#sampler(traceId, parent);
  }
}
