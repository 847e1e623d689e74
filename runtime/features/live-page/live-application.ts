/** Builds the live document of one application. */
import type { MetricLine } from "../../base/exposition.ts";
import { type Bundle, violationCeiling } from "../../bundle/schema.ts";
import { levelForLoad } from "../../core/level-choice.ts";
import type { Application } from "../../server/applications/application.ts";
import type { ServerState } from "../../server/applications/server-state.ts";
import { PROMISE_WORDS, type PromiseState } from "../../server/measures/facts.ts";
import type { Reading } from "../../server/measures/watched.ts";
import type { ServedPace } from "../../server/metrics/served-pace.ts";
import { Latencies } from "../../server/requests/request-metrics.ts";
import type {
  LiveApplication,
  LiveClass,
  LivePace,
  LivePlaces,
  LivePromise,
  LiveRows,
  LiveVariant,
} from "./live.ts";
import { promisedLevels } from "./promises.ts";
import { Samples } from "./samples.ts";

/** Limit of the variants in a document, over all tasks. */
const MAX_VARIANTS = 64;
const MAX_CLASSES = 16;
const MAX_WORKERS = 64;
/** Maximum length of a name. */
const MAX_NAME = 80;

/** Maximum length of the reason for a broken promise. */
const MAX_BECAUSE = 600;
/** Evidence from which a promise that holds is shown as doubtful; 1 breaks it. */
const DOUBT = 0.3;

const QUERIES = "stratagem_queries_total";
const ACCURACY = "stratagem_satisfied_accuracy_total";
const PENDING = "stratagem_pending_queries";
const WORKERS = "stratagem_workers";
const BATCHES = "stratagem_batch_size_count";
const EXPECTED = "stratagem_expected_ratio";

export function liveApplication(state: ServerState, served: Application): LiveApplication {
  const { endpoint } = served;
  const { bundle } = endpoint;
  const samples = new Samples([...endpoint.metricLines(), ...latencyLines(state, served)]);
  const { application, method, slo } = bundle;
  const loadQps = samples.sum("stratagem_load_qps");
  const followed = samples.sum("stratagem_level");
  const level = followed ?? (loadQps === null ? null : levelForLoad(bundle.levels, loadQps));
  const variants = bundle.tasks.flatMap(({ name: task, variants }) =>
    variants.map((variant) => ({ task, ...variant })),
  );
  return {
    name: shortened(application),
    method,
    bundleSha256: samples.label("stratagem_bundle_info", "sha256") ?? "",
    isReady: state.isApplicationReady(served),
    slo: { latencyMs: slo.latencyMs, maxViolationRate: violationCeiling(slo) },
    loadQps,
    level,
    isLevelFollowed: followed !== null,
    levelCount: bundle.levels.length,
    levels: promisedLevels(bundle, level),
    pending: samples.sum(PENDING),
    workers: {
      count: samples.sum(WORKERS, { state: "total" }),
      ready: samples.sum(WORKERS, { state: "ready" }),
      lost: samples.sum("stratagem_workers_lost_total") ?? 0,
      hung: samples.sum("stratagem_workers_lost_total", { reason: "hung" }) ?? 0,
    },
    pace: livePace(endpoint.pace),
    rows: rowsOf(samples),
    satisfiedAccuracy: samples.sum(ACCURACY),
    requests: {
      answered: samples.sum("nv_inference_request_success") ?? 0,
      failed: samples.sum("nv_inference_request_failure") ?? 0,
      answeredMs: (samples.sum("nv_inference_request_duration_us") ?? 0) / 1000,
    },
    latency: samples.histogram("stratagem_request_duration_seconds", 1000),
    slack: samples.histogram("stratagem_dispatch_slack_seconds", 1000),
    variants: variants.slice(0, MAX_VARIANTS).map((variant) => liveVariant(samples, variant)),
    variantsLeftOut: Math.max(0, variants.length - MAX_VARIANTS),
    classes: classesOf(samples, bundle),
    places: placesOf(samples),
    promised: livePromised(endpoint.watched.reading()),
    promises: served.promises().map(livePromise),
  };
}

function livePace(pace: ServedPace | undefined): LivePace | null {
  if (pace === undefined) return null;
  const { workers, corrections } = pace;
  return {
    ...pace,
    workers: workers.slice(0, MAX_WORKERS),
    corrections: corrections.slice(0, MAX_VARIANTS),
  };
}

/** Returns what the watched promises are judged by; nothing is promised above the highest level. */
function livePromised({ promised, loadQps, topLevelQps }: Reading): LiveApplication["promised"] {
  const isPromised = promised?.feasible === true && !(loadQps > topLevelQps);
  const known = (value: number | undefined) => {
    return isPromised && Number.isFinite(value) ? (value ?? null) : null;
  };
  return {
    accuracy: known(promised?.accuracyPerSatisfied),
    violationRate: known(promised?.violationRate),
  };
}

function livePromise({ promise, holds, evidence, because }: PromiseState): LivePromise {
  const name = PROMISE_WORDS[promise];
  if (!holds) {
    const text = `✗ ${name}: broken, ${because.slice(0, MAX_BECAUSE)}`;
    return { promise, holds, isDoubted: false, text };
  }
  const isDoubted = evidence >= DOUBT;
  const share = Math.min(99, Math.floor(100 * evidence));
  const doubt = `holds so far, with ${share} % of the evidence that would break it`;
  return {
    promise,
    holds,
    isDoubted,
    text: isDoubted ? `≈ ${name}: ${doubt}` : `✓ ${name}: holds`,
  };
}

function latencyLines({ models }: ServerState, served: Application): MetricLine[] {
  const own = models.filter(({ application }) => application === served);
  return Latencies.lines(
    own.map(({ model, latencies }) => [model.signature.names[0] ?? "", latencies] as const),
  );
}

function rowsOf(samples: Samples, labels: Readonly<Record<string, string>> = {}): LiveRows {
  const count = (outcome: string) => samples.sum(QUERIES, { ...labels, outcome }) ?? 0;
  return { satisfied: count("satisfied"), late: count("late"), dropped: count("dropped") };
}

function liveVariant(
  samples: Samples,
  { task, name, accuracy }: { readonly task: string; readonly name: string; accuracy?: number },
): LiveVariant {
  // Methods without a task graph have metrics without the label `task`.
  const isOfTask = samples.valuesOf(BATCHES, "task").length > 0;
  const own = isOfTask ? { task, variant: name } : { variant: name };
  const rows =
    samples.sum("stratagem_batch_size_sum", own) ??
    samples.sum("nv_inference_count", { model: name });
  return {
    task: shortened(task),
    name: shortened(name),
    accuracy: accuracy ?? null,
    rows: rows ?? 0,
    batches: samples.sum(BATCHES, own),
    assigned: samples.sum("stratagem_task_workers", { ...own, state: "assigned" }),
    ready: samples.sum("stratagem_task_workers", { ...own, state: "ready" }),
    cores: samples.sum("stratagem_worker_cores_target", { task }),
    startPlaces: samples.sum("stratagem_start_places_sum", { model: name }),
    starts: samples.sum("stratagem_start_places_count", { model: name }),
  };
}

function classesOf(samples: Samples, { slo }: Bundle): LiveClass[] {
  return (slo.classes ?? []).slice(0, MAX_CLASSES).map(({ name, latencyMs }) => {
    const own = { slo_class: name };
    return {
      name: shortened(name),
      latencyMs,
      ...rowsOf(samples, own),
      satisfiedAccuracy: samples.sum(ACCURACY, own) ?? 0,
      promisedAccuracy: samples.sum(EXPECTED, { ...own, figure: "accuracy" }),
      promisedViolationRate: samples.sum(EXPECTED, { ...own, figure: "violations" }),
    };
  });
}

function placesOf(samples: Samples): LivePlaces | null {
  const busy = samples.sum(WORKERS, { state: "busy" });
  if (busy === null) return null;
  return {
    count: samples.sum(WORKERS, { state: "total" }) ?? 0,
    ready: samples.sum(WORKERS, { state: "ready" }) ?? 0,
    busy,
    running: samples.sum(PENDING, { state: "running" }) ?? 0,
    waiting: samples.sum(PENDING, { state: "waiting" }) ?? 0,
  };
}

function shortened(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - 1)}…`;
}
