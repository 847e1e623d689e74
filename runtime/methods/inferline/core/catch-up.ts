/** Computes the temporary replicas that serve a backlog after a jump. */
import type { InferlineBundle, StagePlan } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { decisionSloMs } from "../../../core/decision-slo.ts";
import type { StageState } from "./replica-tuner.ts";
import { wholeOf } from "./staffing.ts";

/** Part of the SLO for which requests may wait without being more than a plan makes wait. */
const USUAL_WAIT = 0.5;
/** The backlog must be served within this part of the time that replicas take to come up ... */
const DRAIN_PART = 0.25;
/** ... and within this part of a beat at least. */
const LEAST_DRAIN = 0.5;
/** Beats after its start in which a wave may still grow, at most half of the time to come up. */
const GROWTH = 1;

interface CatchUpLook {
  readonly nowMs: number;
  /** Load that the newest traffic certainly has, and its best estimate, requests per second. */
  readonly sureQps: number;
  readonly likelyQps: number;
  /** [taskCount]: times the queries of a request that the plan counts with. */
  readonly factors: Float64Array;
}

/**
 * Replicas beyond what the traffic needs, while the backlog is larger than a plan expects.
 *
 * If the load certainly exceeds what the ready replicas carry, the backlog at the time when
 * replicas requested now are up is known: what waits already, and what comes beyond what is
 * carried. Beside the load itself, it must be served within a quarter of the time that replicas
 * take to come up. All replicas of this wave are requested within its first beat, so that they are
 * up together, and go once nothing waits any more. A task has to serve the backlog of the tasks
 * before it as well.
 */
export class CatchUp {
  /** Replicas, [taskCount]; 0 without a backlog. */
  readonly replicas: Uint32Array;
  readonly #parents: readonly (readonly number[])[];
  readonly #activationMs: number;
  readonly #beatMs: number;
  readonly #usualSeconds: number;
  /**
   * Throughput up to and including a task, and its backlog, [taskCount]: requests per second,
   * requests.
   */
  readonly #carriedQps: Float64Array;
  readonly #promisedQps: Float64Array;
  readonly #behind: Float64Array;
  #isOn = false;
  /** When the replicas of the wave are up, and when it may still grow. */
  #upMs = 0;
  #growsUntilMs = 0;

  constructor({ tasks, policy, slo, cluster }: InferlineBundle) {
    this.replicas = new Uint32Array(tasks.length);
    this.#parents = tasks.map(({ edges }) => edges.flatMap(({ parent }) => parent ?? []));
    this.#activationMs = policy.activationMs;
    this.#beatMs = beatMsOf(slo);
    this.#usualSeconds = (USUAL_WAIT * decisionSloMs(cluster, slo.latencyMs)) / 1000;
    this.#carriedQps = new Float64Array(tasks.length);
    this.#promisedQps = new Float64Array(tasks.length);
    this.#behind = new Float64Array(tasks.length);
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Latest time of the next look. */
  get dueMs(): number {
    return this.#isOn ? this.#growsUntilMs : Number.POSITIVE_INFINITY;
  }

  /** @param targets [taskCount]: replicas that the tasks should have. */
  look(
    look: CatchUpLook,
    stages: readonly StagePlan[],
    targets: Uint32Array,
    state: StageState,
  ): void {
    this.#measure(stages, targets, state, look.factors);
    if (this.#isOn && this.#isCaughtUp(look.likelyQps)) this.#end();
    if (!this.#isOn || look.nowMs >= this.#upMs) this.#begin(look);
    if (look.nowMs <= this.#growsUntilMs) this.#grow(look, stages);
  }

  #measure(
    stages: readonly StagePlan[],
    targets: Uint32Array,
    state: StageState,
    factors: Float64Array,
  ): void {
    for (let task = 0; task < stages.length; task++) {
      const { throughputQps, scaleFactor } = stages[task]!;
      const perRequest = scaleFactor * factors[task]!;
      // A task that no request reaches holds nothing up.
      const each = perRequest > 0 ? throughputQps / perRequest : Number.POSITIVE_INFINITY;
      const waits = perRequest > 0 ? state.waiting(task) / perRequest : 0;
      let carried = each * state.readyByTask[task]!;
      let promised = each * targets[task]!;
      let behind = 0;
      for (const parent of this.#parents[task]!) {
        carried = Math.min(carried, this.#carriedQps[parent]!);
        promised = Math.min(promised, this.#promisedQps[parent]!);
        behind = Math.max(behind, this.#behind[parent]!);
      }
      this.#carriedQps[task] = carried;
      this.#promisedQps[task] = promised;
      this.#behind[task] = behind + waits;
    }
  }

  /** Whether no request waits longer than usual, and the ready replicas carry the load. */
  #isCaughtUp(likelyQps: number): boolean {
    for (let task = 0; task < this.#behind.length; task++) {
      const carried = this.#carriedQps[task]!;
      if (carried < likelyQps || this.#behind[task]! > this.#usualSeconds * carried) return false;
    }
    return true;
  }

  #end(): void {
    this.#isOn = false;
    this.#growsUntilMs = Number.NEGATIVE_INFINITY;
    this.replicas.fill(0);
  }

  /**
   * Begins a wave if more than usual will wait by the time that it is up. Without a wave, the
   * backlog grows by the load beyond the ready replicas; with one, by the load beyond its targets.
   */
  #begin({ nowMs, sureQps }: CatchUpLook): void {
    const seconds = this.#activationMs / 1000;
    const carriedQps = this.#isOn ? this.#promisedQps : this.#carriedQps;
    for (let task = 0; task < this.#behind.length; task++) {
      const carried = carriedQps[task]!;
      const left = this.#behind[task]! + (sureQps - carried) * seconds;
      if (left <= this.#usualSeconds * Math.max(carried, sureQps)) continue;
      this.#isOn = true;
      this.#upMs = nowMs + this.#activationMs;
      this.#growsUntilMs = nowMs + Math.min(GROWTH * this.#beatMs, this.#activationMs / 2);
      return;
    }
  }

  #grow({ nowMs, sureQps, likelyQps, factors }: CatchUpLook, stages: readonly StagePlan[]): void {
    const leftSeconds = Math.max(0, this.#upMs - nowMs) / 1000;
    const drainMs = Math.max(LEAST_DRAIN * this.#beatMs, DRAIN_PART * this.#activationMs);
    const qps = Math.max(sureQps, likelyQps);
    for (let task = 0; task < stages.length; task++) {
      const grows = Math.max(0, qps - this.#carriedQps[task]!) * leftSeconds;
      const behind = this.#behind[task]! + grows;
      if (!(behind > this.#usualSeconds * qps)) continue;
      const { throughputQps, scaleFactor } = stages[task]!;
      const wantedQps = (qps + (1000 * behind) / drainMs) * scaleFactor * factors[task]!;
      const wanted = wholeOf(wantedQps / throughputQps);
      if (wanted > this.replicas[task]!) this.replicas[task] = wanted;
    }
  }
}
