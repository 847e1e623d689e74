/** What peers are compared on: profiles, clusters, SLOs, arrivals and loads. */
import { readReference, referencePath } from "../harness/reference.ts";

/** As in a profile. */
interface ProfiledVariant {
  readonly accuracy: number;
  /** By batch size. */
  readonly latencyMs: Readonly<Record<string, number>>;
}

type NamedVariant = ProfiledVariant & { readonly name: string };

type ArrivalsSpec =
  | { readonly process: "poisson" }
  | { readonly process: "gamma"; readonly cv2: number };

/** A profile, and the spec that names it. */
export interface PeerSpec {
  readonly variants: Readonly<Record<string, ProfiledVariant>>;
  readonly sloMs: number;
  readonly workers: number;
  readonly maxQueue: number;
  readonly arrivals: ArrivalsSpec;
}

export interface PeerCase {
  /** Words that choose it. */
  readonly name: string;
  readonly about: string;
  readonly spec: PeerSpec;
  /** Loads in queries/s, or the file of a recorded trace. */
  readonly load: { readonly qps: readonly number[] } | { readonly trace: string };
}

const IMAGE_LOADS = [400, 800, 1200, 1600, 2000, 2400, 2800, 3200, 3400, 3600, 3800];
const GPU_WORKERS = 8;
/** Of the capacity, with the fastest variant in the largest batch that the SLO allows. */
const GPU_SHARES = [0.05, 0.25, 0.5, 0.75, 0.95, 1.1];
const TRACE_WORKERS = 60;
const PROCESSES: Readonly<Record<string, ArrivalsSpec>> = {
  poisson: { process: "poisson" },
  gamma: { process: "gamma", cv2: 4 },
};
const POISSON: ArrivalsSpec = { process: "poisson" };

export function peerCases(): PeerCase[] {
  const variants = imageVariants();
  const image = { sloMs: 150, maxQueue: 32 };
  const steady = Object.entries(PROCESSES).map(
    ([name, arrivals]): PeerCase => ({
      name: `image cpu ${name}`,
      about: "nine ImageNet classifiers on 60 CPU workers, SLO 150 ms, p95 service times",
      spec: { variants, workers: 60, ...image, arrivals },
      load: { qps: IMAGE_LOADS },
    }),
  );
  const recorded: PeerCase = {
    name: "image trace",
    about:
      `twitter-2018-04-25, five minutes, nine ImageNet classifiers on ${TRACE_WORKERS} CPU ` +
      "workers, SLO 150 ms",
    spec: { variants, workers: TRACE_WORKERS, ...image, arrivals: POISSON },
    load: { trace: referencePath("traces/twitter-2018-04-25-5min.txt") },
  };
  return [...steady, ...gpuCases(), recorded];
}

function imageVariants(): PeerSpec["variants"] {
  const profile = readReference<{ variants: Record<string, ProfiledVariant> }>(
    "ramsis/profiles-image.json",
  );
  return Object.fromEntries(
    Object.entries(profile.variants).map(([name, { accuracy, latencyMs }]) => {
      return [name, { accuracy, latencyMs }];
    }),
  );
}

interface GpuProfiles {
  readonly families: Record<string, GpuVariant[]>;
}

interface GpuVariant {
  readonly name: string;
  readonly accuracy: number;
  readonly latencies: Record<string, Record<string, { p90Ms: number }>>;
}

function gpuCases(): PeerCase[] {
  const { families } = readReference<GpuProfiles>("peers/gpu-profiles.json");
  const cases: PeerCase[] = [];
  for (const family of ["sentiment", "detection"]) {
    for (const gpu of ["pascal", "ampere"]) {
      const variants = (families[family] ?? []).map(({ name, accuracy, latencies }) => {
        const rows = Object.entries(latencies[`gpu_${gpu}`] ?? {});
        const latencyMs = Object.fromEntries(rows.map(([batch, { p90Ms }]) => [batch, p90Ms]));
        return { name, accuracy, latencyMs };
      });
      for (const times of [2, 5]) cases.push(...gpuCasesAt(`${family} ${gpu}`, variants, times));
    }
  }
  return cases;
}

/** @param times of the slowest variant alone, the SLO. */
function gpuCasesAt(name: string, named: readonly NamedVariant[], times: number): PeerCase[] {
  const slowestMs = Math.max(...named.map(({ latencyMs }) => latencyMs["1"] ?? Number.NaN));
  const sloMs = Math.round(10 * times * slowestMs) / 10;
  const variants = Object.fromEntries(named.map(({ name: own, ...rest }) => [own, rest]));
  return Object.entries(PROCESSES).map(([process, arrivals]) => {
    const spec = { variants, workers: GPU_WORKERS, sloMs, maxQueue: 16, arrivals };
    const capacityQps = capacityOf(spec);
    return {
      name: `${name} ${times}x ${process}`,
      about: `${named.length} variants on ${GPU_WORKERS} GPUs, SLO ${sloMs} ms, p90 service times`,
      spec,
      load: { qps: GPU_SHARES.map((share) => Math.round(share * capacityQps)) },
    };
  });
}

function capacityOf({ variants, sloMs, workers }: PeerSpec): number {
  const rates = Object.values(variants).flatMap(({ latencyMs }) =>
    Object.entries(latencyMs).map(([batch, ms]) => (ms <= sloMs ? (1000 * Number(batch)) / ms : 0)),
  );
  return workers * Math.max(...rates);
}
