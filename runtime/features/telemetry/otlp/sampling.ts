/** Which requests are traced, as it may be changed while they come. */
import type { TraceParent } from "../../../server/requests/trace-context.ts";
import { type SAMPLERS, type Sampler, samplerOf } from "./sampler.ts";

export interface SamplingState {
  /** Whether anything is traced. */
  readonly isOn: boolean;
  /** Of the requests whose trace begins here, 0 to 1. */
  readonly ratio: number;
}

export class Sampling {
  /** As the server was started. */
  readonly started: SamplingState;
  readonly #byRatio: (typeof SAMPLERS)[number];
  #state: SamplingState;
  #sampler: Sampler;

  /** @param name of the sampler the server starts with. @param ratio as `samplerOf` takes it. */
  constructor(name: (typeof SAMPLERS)[number], ratio: number) {
    const isParentBased = name.startsWith("parentbased_");
    this.#byRatio = isParentBased ? "parentbased_traceidratio" : "traceidratio";
    const isByRatio = name === this.#byRatio;
    const ofNone = name === "parentbased_always_off" ? 0 : 1;
    this.started = { isOn: name !== "always_off", ratio: isByRatio ? ratio : ofNone };
    this.#state = this.started;
    this.#sampler = samplerOf(name, ratio);
  }

  get state(): SamplingState {
    return this.#state;
  }

  /** Holds for requests from now on. Those of a trace that began elsewhere follow it as before. */
  change(state: SamplingState): void {
    this.#state = state;
    this.#sampler = state.isOn ? samplerOf(this.#byRatio, state.ratio) : () => false;
  }

  /** @param parent undefined where the trace begins here. */
  sample(traceId: string, parent: TraceParent | undefined): boolean {
    return this.#sampler(traceId, parent);
  }
}
