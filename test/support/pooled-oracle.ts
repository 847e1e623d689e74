/**
 * The best that any policy can do with few workers, in a world of ticks: at most one query comes in
 * a tick, and service times are whole ticks.
 *
 * The oracle sees everything, the age of every query and what is left of every batch, so no policy
 * has more. It takes the oldest queries first, which no other order beats where all have one SLO.
 * Shares nothing with the solver.
 */
export interface TickProblem {
  readonly workers: number;
  /** Probability that a query comes in a tick. */
  readonly arrival: number;
  readonly sloTicks: number;
  readonly actions: readonly { batch: number; ticks: number; accuracy: number }[];
}

const SWEEPS = 120;

/** @returns accuracy per query of the best policy. */
export function bestAccuracy(problem: TickProblem): number {
  const { sloTicks, arrival } = problem;
  const busy = busyStates(problem);
  const queues = 1 << (sloTicks + 1);
  const index = new Map(busy.map((left, position) => [left.join(), position]));
  const byCount = Array.from({ length: queues }, (_, mask) => mask).sort(
    (a, b) => ones(a) - ones(b),
  );
  const indexOf = (left: readonly number[]): number => index.get(left.join()) ?? 0;
  const afterTick = busy.map((left) => indexOf(left.map((ticks) => Math.max(0, ticks - 1))));
  const afterStart = busy.map((left) =>
    problem.actions.map(({ ticks }) =>
      left[0] === 0 ? indexOf([...left.slice(1), ticks].sort((a, b) => a - b)) : -1,
    ),
  );
  let value = new Float64Array(busy.length * queues);
  let gain = 0;
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const next = new Float64Array(value.length);
    for (const mask of byCount) {
      const oldest = 31 - Math.clz32(mask);
      const count = ones(mask);
      const rests = problem.actions.map(({ batch, ticks }) =>
        batch > count || oldest + ticks > sloTicks ? -1 : withoutOldest(mask, batch),
      );
      for (let position = 0; position < busy.length; position++) {
        // Who is as old as the SLO is lost with the tick.
        const at = (afterTick[position] ?? 0) * queues + ((mask << 1) & (queues - 1));
        let best = arrival * (value[at + 1] ?? 0) + (1 - arrival) * (value[at] ?? 0);
        if (mask > 0) {
          best = Math.max(best, next[position * queues + (mask ^ (1 << oldest))] ?? 0);
        }
        for (let action = 0; action < rests.length; action++) {
          const [started = -1, rest = -1] = [afterStart[position]?.[action], rests[action]];
          const { batch = 0, accuracy = 0 } = problem.actions[action] ?? {};
          if (started < 0 || rest < 0) continue;
          best = Math.max(best, batch * accuracy + (next[started * queues + rest] ?? 0));
        }
        next[position * queues + mask] = best;
      }
    }
    gain = (next[0] ?? 0) - (value[0] ?? 0);
    const zero = next[0] ?? 0;
    value = next.map((one) => one - zero);
  }
  return gain / arrival;
}

/** Ticks left of each worker's batch, ascending. */
function busyStates({ workers, actions }: TickProblem): number[][] {
  const longest = Math.max(...actions.map(({ ticks }) => ticks));
  let states: number[][] = [[]];
  for (let worker = 0; worker < workers; worker++) {
    states = states.flatMap((left) =>
      Array.from({ length: longest + 1 }, (_, ticks) => ticks)
        .filter((ticks) => ticks >= (left.at(-1) ?? 0))
        .map((ticks) => [...left, ticks]),
    );
  }
  return states;
}

function ones(mask: number): number {
  let count = 0;
  for (let rest = mask; rest > 0; rest &= rest - 1) count++;
  return count;
}

function withoutOldest(mask: number, count: number): number {
  let rest = mask;
  for (let taken = 0; taken < count; taken++) rest ^= 1 << (31 - Math.clz32(rest));
  return rest;
}
