/** INFaaS' autoscaler on a cluster of fixed size: how many workers hold which instance type. */
import { type PeerCluster, type PeerVariant, rateOf } from "./peer-cluster.ts";

/** INFaaS' term is variant: a model built for batches of up to a size. */
export interface InstanceType {
  readonly variant: PeerVariant;
  readonly batch: number;
  readonly serviceMs: number;
  /** Queries per second of one instance. */
  readonly rateQps: number;
}

export interface InfaasOptions {
  /** Requested accuracy ... */
  readonly leastAccuracy: number;
  /** ... and latency: a batch takes at most this fraction of the SLO. */
  readonly latencyShare: number;
  /** Fraction of an instance's throughput that the autoscaler plans for. */
  readonly capacityShare: number;
}

/** An instance is removed when the others could have carried the load for this long. */
const SPARE_MS = 10_000;

/** The types that meet the clients' request; if none does, those of the fastest variant. */
export function instanceTypes(cluster: PeerCluster, options: InfaasOptions): InstanceType[] {
  const types = cluster.variants.flatMap((variant) =>
    Array.from(variant.serviceMs, (serviceMs, index) => {
      const batch = index + 1;
      return { variant, batch, serviceMs, rateQps: rateOf(variant, batch) };
    }),
  );
  const limitMs = options.latencyShare * cluster.sloMs;
  const isAccurate = ({ variant }: InstanceType) => variant.accuracy >= options.leastAccuracy;
  const feasible = types.filter((type) => isAccurate(type) && type.serviceMs <= limitMs);
  if (feasible.length > 0) return feasible;
  const leastMs = Math.min(...types.filter(isAccurate).map(({ serviceMs }) => serviceMs));
  return types.filter((type) => isAccurate(type) && type.serviceMs === leastMs);
}

/** Decides, at the end of every period, the number of instances of each type. */
export class InfaasScaler {
  /** Indexed by type; the sum is at most the number of workers. */
  readonly replicas: Uint32Array;
  readonly #types: readonly InstanceType[];
  readonly #workerCount: number;
  readonly #capacityShare: number;
  /** Time since which an instance of a type could be spared, NaN if none could. */
  readonly #spareSinceMs: Float64Array;

  constructor(
    types: readonly InstanceType[],
    workerCount: number,
    { capacityShare }: InfaasOptions,
  ) {
    this.#types = types;
    this.#workerCount = workerCount;
    this.#capacityShare = capacityShare;
    this.replicas = new Uint32Array(types.length);
    this.#spareSinceMs = new Float64Array(types.length).fill(Number.NaN);
  }

  /**
   * If nothing runs yet, starts instances of the type that finishes first; all types load equally
   * fast here.
   */
  start(loadQps: number): void {
    const times = this.#types.map(({ serviceMs }) => serviceMs);
    this.#grow(times.indexOf(Math.min(...times)), loadQps);
  }

  /** @param loadQps of each type in the last period. */
  update(loadQps: Float64Array, nowMs: number): void {
    for (const [type, load] of loadQps.entries()) {
      if ((this.replicas[type] ?? 0) === 0) continue;
      if (load > this.#capacityQps(type, this.replicas[type] ?? 0)) this.#grow(type, load);
      else this.#shrink(type, load, nowMs);
    }
  }

  /**
   * Replicates a type until it carries its load. If there are too few workers for that, its
   * instances become those of a faster type.
   */
  #grow(type: number, loadQps: number): void {
    const others =
      this.replicas.reduce((sum, count) => sum + count, 0) - (this.replicas[type] ?? 0);
    const most = this.#workerCount - others;
    const wanted = this.#replicasFor(type, loadQps);
    this.#spareSinceMs[type] = Number.NaN;
    if (wanted <= most) {
      this.replicas[type] = wanted;
      return;
    }
    const upgrade = this.#upgradeOf(type, loadQps, most);
    this.replicas[type] = 0;
    const count = Math.min(most, this.#replicasFor(upgrade, loadQps));
    this.replicas[upgrade] = (this.replicas[upgrade] ?? 0) + count;
    this.#spareSinceMs[upgrade] = Number.NaN;
  }

  /**
   * The slowest type that carries a load on some workers, or the one of the highest throughput;
   * ties go to the first.
   */
  #upgradeOf(type: number, loadQps: number, workers: number): number {
    let best = type;
    for (const [candidate, { rateQps }] of this.#types.entries()) {
      const bestQps = this.#types[best]?.rateQps ?? 0;
      const isEnough = this.#capacityQps(candidate, workers) >= loadQps;
      const isBestEnough = this.#capacityQps(best, workers) >= loadQps;
      if (isBestEnough ? isEnough && rateQps < bestQps : rateQps > bestQps) best = candidate;
    }
    return best;
  }

  #shrink(type: number, loadQps: number, nowMs: number): void {
    const count = this.replicas[type] ?? 0;
    if (count < 2 || loadQps > this.#capacityQps(type, count - 1)) {
      this.#spareSinceMs[type] = Number.NaN;
      return;
    }
    const sinceMs = this.#spareSinceMs[type] ?? Number.NaN;
    if (Number.isNaN(sinceMs)) this.#spareSinceMs[type] = nowMs;
    else if (nowMs - sinceMs >= SPARE_MS) {
      this.replicas[type] = count - 1;
      this.#spareSinceMs[type] = nowMs;
    }
  }

  #capacityQps(type: number, count: number): number {
    return count * this.#capacityShare * (this.#types[type]?.rateQps ?? Number.NaN);
  }

  #replicasFor(type: number, loadQps: number): number {
    return Math.max(1, Math.ceil(loadQps / this.#capacityQps(type, 1)));
  }
}
