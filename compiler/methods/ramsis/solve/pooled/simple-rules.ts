/**
 * Simple rules of a few lines, and those of the peers that are tables over (queued, slack): lower
 * bounds for a policy. Sources: the page of peers in docs/sources.md.
 */
import { GIVE_UP, NO_ACTION } from "stratagem-runtime/internal/bundle/schema";
import { climb, ladders } from "./ladder-rule.ts";
import { asOneClass, type PooledAction, type PooledProblem } from "./pooled-problem.ts";
import type { Decide } from "./pooled-simulation.ts";

export interface SimpleRule {
  readonly name: string;
  readonly decide: Decide;
}

/** Buckets of SlackFit. */
const SLACK_BUCKETS = 16;
/** Maximum number of variants with their own rule. */
const MOST_VARIANTS = 6;

export function simpleRules(problem: PooledProblem): SimpleRule[] {
  return [
    { name: "greedy", decide: greedy(problem) },
    { name: "maxacc", decide: mostAccurateFirst(problem) },
    { name: "maxbatch", decide: largestBatchFirst(problem) },
    { name: "slackfit", decide: slackFit(problem, true) },
    { name: "slackfit-b", decide: slackFit(problem, false) },
    ...laddersOfAll(problem).map((rungs) => ({
      name: `ladder ${rungs.map(({ variant, batch }) => `${variant} x ${batch}`).join(", ")}`,
      decide: climb(problem, rungs),
    })),
    ...promisingVariants(problem).flatMap((own) => [...fixedVariantRules(problem, own)]),
  ];
}

/** Ladders of one SLO; with several, also of their mean and of the shortest. */
function laddersOfAll(problem: PooledProblem): PooledAction[][] {
  if (problem.classes.length === 1) return ladders(problem);
  const shortestMs = Math.min(...problem.classes.map(({ sloMs }) => sloMs));
  const problems = [problem, asOneClass(problem), { ...problem, sloMs: shortestMs }];
  return problems.flatMap(ladders);
}

/**
 * Takes all waiting queries if some variant serves them in time, on the most accurate such variant;
 * otherwise the fastest, in its largest batch in time.
 */
function greedy({ choices, actions }: PooledProblem): Decide {
  return (queued, slackMs) => {
    const inTime = choices.filter((action) => action.serviceMs <= slackMs);
    const largest = Math.min(queued, Math.max(1, ...actions.map(({ batch }) => batch)));
    const all = best(inTime, (action) => (action.batch === largest ? action.accuracy : -1));
    if (all !== null) return all.index;
    return indexOf(
      best(inTime, ({ batch, serviceMs }) => fits(batch, queued, batch - serviceMs * TIE)),
    );
  };
}

/** The most accurate variant that serves one query in time, in its largest batch in time. */
function mostAccurateFirst({ choices }: PooledProblem): Decide {
  return (queued, slackMs) => {
    const inTime = choices.filter(
      ({ batch, serviceMs }) => batch <= queued && serviceMs <= slackMs,
    );
    return indexOf(best(inTime, ({ accuracy, batch }) => accuracy + batch * TIE));
  };
}

/** The largest batch that some variant serves in time, on the most accurate such variant. */
function largestBatchFirst({ choices }: PooledProblem): Decide {
  return (queued, slackMs) => {
    const inTime = choices.filter(
      ({ batch, serviceMs }) => batch <= queued && serviceMs <= slackMs,
    );
    return indexOf(best(inTime, ({ accuracy, batch }) => batch + accuracy / 2));
  };
}

/**
 * SuperServe's SlackFit, in both readings of its text.
 * @param fillsLess whether the batch of the bucket may be larger than the queue.
 */
function slackFit({ choices, sloMs }: PooledProblem, fillsLess: boolean): Decide {
  const fastestMs = Math.min(sloMs, ...choices.map(({ serviceMs }) => serviceMs));
  const widthMs = (sloMs - fastestMs) / SLACK_BUCKETS;
  const bucketOf = ({ serviceMs }: PooledAction): number =>
    widthMs > 0 ? Math.min(SLACK_BUCKETS - 1, Math.floor((serviceMs - fastestMs) / widthMs)) : 0;
  const byBucket = Array.from({ length: SLACK_BUCKETS }, (_, bucket) =>
    choices.filter((action) => bucketOf(action) === bucket),
  );
  const rank = ({ batch, accuracy }: PooledAction): number => batch + accuracy / 2;
  const chosen = byBucket.map((own) => best(own, rank));
  return (queued, slackMs) => {
    for (let bucket = SLACK_BUCKETS - 1; bucket >= 0; bucket--) {
      const picked = fillsLess
        ? (chosen[bucket] ?? null)
        : best(byBucket[bucket] ?? [], (action) =>
            action.batch <= queued && action.serviceMs <= slackMs ? rank(action) : -1,
          );
      if (picked === null || picked.serviceMs > slackMs) continue;
      if (picked.batch <= queued) return picked.index;
      const smaller = choices.filter(
        ({ variant, batch }) => variant === picked.variant && batch <= queued,
      );
      const fitting = best(smaller, ({ batch }) => batch);
      if (fitting !== null) return fitting.index;
    }
    return GIVE_UP;
  };
}

/**
 * Rules of one variant: at once; waiting for the most valuable batch, and dropping queries that
 * miss it; and deferring like Symphony.
 */
function* fixedVariantRules(
  problem: PooledProblem,
  own: readonly PooledAction[],
): Generator<SimpleRule> {
  const variant = own[0]?.variant ?? 0;
  const inTime = (queued: number, slackMs: number): PooledAction | null =>
    best(own, ({ batch, serviceMs }) => (serviceMs <= slackMs ? fits(batch, queued, batch) : -1));
  yield {
    name: `fixed variant ${variant}`,
    decide: (queued, slackMs) => indexOf(inTime(queued, slackMs)),
  };
  yield { name: `symphony variant ${variant}`, decide: symphony(problem, own) };
  for (const target of targets(problem, own)) {
    yield {
      name: `deferred variant ${variant} x ${target.batch}`,
      decide: (queued, slackMs) => {
        if (slackMs < target.serviceMs) return GIVE_UP;
        return queued < target.batch && slackMs > 0 ? NO_ACTION : indexOf(inTime(queued, slackMs));
      },
    };
  }
}

/**
 * Symphony on one variant: a batch starts when one more query would make it late. The first query
 * is dropped if it prevents the batch for the load: the largest that ends in time if each worker
 * starts one in turn.
 */
function symphony({ arrivalsPerMs, sloMs }: PooledProblem, own: readonly PooledAction[]): Decide {
  const smallest = own[0];
  const wanted =
    own.findLast(({ batch, serviceMs }) => serviceMs + batch / arrivalsPerMs <= sloMs) ?? smallest;
  const largest = own[own.length - 1];
  return (queued, slackMs) => {
    // The last b of the queue arrived evenly over their share of the first one's age.
    const perQueryMs = (sloMs - slackMs) / Math.max(1, queued - 1);
    const least = own.findLast(
      ({ batch, serviceMs }) =>
        batch <= Math.min(queued, wanted?.batch ?? 1) &&
        (batch - 1) * perQueryMs + serviceMs <= sloMs,
    );
    if (least === undefined || slackMs < least.serviceMs) return GIVE_UP;
    const at = own.findLastIndex(({ batch, serviceMs }) => batch <= queued && serviceMs <= slackMs);
    const batch = own[at] ?? least;
    const next = own[at + 1];
    const isFull = batch.batch < queued || batch === largest;
    const mayGrow = next !== undefined && next.serviceMs <= slackMs;
    return !isFull && mayGrow ? NO_ACTION : batch.index;
  };
}

/**
 * Batches that carry the load with the least latency, and the largest that can be formed in time.
 */
function targets(problem: PooledProblem, own: readonly PooledAction[]): PooledAction[] {
  const { arrivalsPerMs, workerCount, sloMs } = problem;
  const formed = own.filter(
    ({ batch, serviceMs }) => serviceMs + (batch - 1) / arrivalsPerMs <= sloMs,
  );
  const carrying = formed.find(
    ({ batch, meanMs }) => workerCount * batch >= arrivalsPerMs * meanMs,
  );
  const largest = best(formed, ({ batch }) => batch);
  const second = best(formed, ({ batch }) => (batch < (largest?.batch ?? 0) ? batch : -1));
  const found = [carrying, largest, second].filter(
    (action) => action !== undefined && action !== null,
  );
  return [...new Set(found)].filter(({ batch }) => batch > 1);
}

/** The choices of each variant with high worth for its time, smallest batches first. */
function promisingVariants({
  actions,
  workerCount,
  arrivalsPerMs,
  sloMs,
}: PooledProblem): PooledAction[][] {
  const byVariant = new Map<number, PooledAction[]>();
  for (const action of actions) {
    if (action.serviceMs > sloMs) continue;
    const own = byVariant.get(action.variant) ?? [];
    own.push(action);
    byVariant.set(action.variant, own);
  }
  const worth = (own: readonly PooledAction[]): number => {
    const rate = Math.max(...own.map(({ batch, meanMs }) => batch / meanMs));
    return (own[0]?.accuracy ?? 0) * Math.min(1, (workerCount * rate) / arrivalsPerMs);
  };
  return [...byVariant.values()]
    .map((own) => own.sort((a, b) => a.batch - b.batch))
    .sort((a, b) => worth(b) - worth(a))
    .slice(0, MOST_VARIANTS);
}

/** Breaks ties between ranks. */
const TIE = 1e-6;

function fits(batch: number, queued: number, rank: number): number {
  return batch <= queued ? rank : Number.NEGATIVE_INFINITY;
}

/** Finds the item of the highest rank that is not negative; ties go to the first. */
function best<Item>(items: readonly Item[], rankOf: (item: Item) => number): Item | null {
  let found: Item | null = null;
  let highest = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    const rank = rankOf(item);
    if (rank < 0 || rank <= highest) continue;
    found = item;
    highest = rank;
  }
  return found;
}

function indexOf(action: PooledAction | null): number {
  return action?.index ?? GIVE_UP;
}
