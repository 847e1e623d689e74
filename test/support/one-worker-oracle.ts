/**
 * The best table for one worker: relative value iteration over the queue and the age of its first
 * query, both even and fine. Every batch of the oldest may start, and it may wait or drop.
 *
 * The others are taken to have come at uniform times within the age of the first, which is exact
 * until a batch leaves some behind. Shares nothing with the solver.
 */
export interface OneWorker {
  readonly arrivalsPerMs: number;
  readonly sloMs: number;
  readonly capacity: number;
  readonly actions: readonly { batch: number; ms: number; accuracy: number }[];
  /** Accuracy that a lost query costs beyond its own. */
  readonly lossPrice: number;
}

/** A cell holds the position of an action, or one of these. */
export const WAITS = -1;
export const DROPS = -2;

export interface Best {
  /** Accuracy per query less the price of losses, as the grid has it. */
  readonly gain: number;
  /** Shape (capacity, steps + 1), by queue less one and by slack in steps. */
  readonly cells: Int32Array;
  readonly sweeps: number;
}

const MOST_SWEEPS = 3000;

/** @param steps of the slack. */
export function bestTable(problem: OneWorker, steps: number, tolerance = 2e-6): Best {
  const { arrivalsPerMs: rate, sloMs, capacity, actions, lossPrice } = problem;
  const stepMs = sloMs / steps;
  const longest = Math.max(...actions.map(({ ms }) => ms));
  const fastest = Math.min(...actions.map(({ ms }) => ms));
  // Column j has ages from j − 1 to j steps; beyond the SLO the first is late.
  const columns = steps + 2 + Math.ceil(longest / stepMs);
  const at = (queued: number, column: number): number =>
    (Math.min(capacity, queued) - 1) * columns + Math.min(columns - 1, column);
  const value = new Float64Array(capacity * columns);
  const time = new Float64Array(capacity * columns);
  const inStep = poisson(rate * stepMs);
  const times = [...new Set(actions.map(({ ms }) => ms))];
  const comes = times.map((ms) => poisson(rate * ms));
  const usable = actions.map((action) => ({ ...action, at: times.indexOf(action.ms) }));
  const largest = Math.max(...actions.map(({ batch }) => batch));
  // [left][others]: where the first of those that are left is, in parts of the first one's age.
  const orders = orderGrid(capacity, largest);
  const cells = new Int32Array(capacity * (steps + 1)).fill(DROPS);
  let gain = 0;
  let sweeps = 0;
  let [worth, spent] = [0, 0];
  /** What follows a batch that leaves nobody. */
  const emptied = (ms: number, counts: Float64Array): [number, number] => {
    const none = counts[0]!;
    let [sum, sumTime] = [none * value[at(1, 0)]!, none * (time[at(1, 0)]! + 1 / rate)];
    sum -= (none * gain) / rate;
    // The first came x before the end, and those after it are Poisson in x.
    const parts = Math.max(1, Math.ceil(ms / stepMs));
    for (let part = 0; part < parts; part++) {
      const from = part * stepMs;
      const to = Math.min(ms, from + stepMs);
      const share = Math.exp(-rate * (ms - to)) - Math.exp(-rate * (ms - from));
      const more = poisson((rate * (from + to)) / 2);
      for (let count = 0; count < more.length; count++) {
        const weight = share * more[count]!;
        const state = at(1 + count, part + 1);
        const lost = Math.max(0, 1 + count - capacity);
        sum += weight * (value[state]! - lost * lossPrice);
        sumTime += weight * time[state]!;
      }
    }
    return [sum, sumTime];
  };
  const shift = (queued: number, column: number, counts: Float64Array): void => {
    worth = 0;
    spent = 0;
    for (let count = 0; count < counts.length; count++) {
      const state = at(queued + count, column);
      const lost = Math.max(0, queued + count - capacity);
      worth += counts[count]! * (value[state]! - lost * lossPrice);
      spent += counts[count]! * time[state]!;
    }
  };
  for (; sweeps < MOST_SWEEPS; sweeps++) {
    const after = times.map((ms, index) => emptied(ms, comes[index]!));
    // U[time][queued left, column of the first at the end of the batch]
    const moved = times.map((ms, index) => {
      const own = new Float64Array(capacity * columns);
      const ownTime = new Float64Array(capacity * columns);
      const more = Math.round(ms / stepMs);
      for (let left = 1; left < capacity; left++) {
        for (let column = 0; column <= steps; column++) {
          shift(left, column + more, comes[index]!);
          own[at(left, column)] = worth;
          ownTime[at(left, column)] = spent;
        }
      }
      return { own, ownTime };
    });
    let change = 0;
    for (let column = columns - 1; column >= 0; column--) {
      for (let queued = capacity; queued >= 1; queued--) {
        const state = at(queued, column);
        let best = -lossPrice;
        let bestTime = 0;
        let choice = DROPS;
        if (queued > 1) {
          const next = spread(orders[queued - 1]![queued - 1]!, queued - 1, column, value, at);
          best += next;
          bestTime = spread(orders[queued - 1]![queued - 1]!, queued - 1, column, time, at);
        } else {
          best += value[at(1, 0)]! - gain / rate;
          bestTime = time[at(1, 0)]! + 1 / rate;
        }
        // Whom nobody can serve in time does not keep the worker from those who are late.
        if (column < steps && (steps - column) * stepMs > fastest) {
          shift(queued, column + 1, inStep);
          const waits = worth - gain * stepMs;
          if (waits > best) [best, bestTime, choice] = [waits, spent + stepMs, WAITS];
        }
        for (let index = 0; index < usable.length; index++) {
          const { batch, ms, accuracy, at: timeAt } = usable[index]!;
          if (batch > queued || ms > (steps - column) * stepMs + 1e-9 * sloMs) continue;
          const left = queued - batch;
          let own = batch * accuracy - gain * ms;
          let ownTime = ms;
          if (left === 0) {
            own += after[timeAt]![0];
            ownTime += after[timeAt]![1];
          } else {
            const { own: values, ownTime: spans } = moved[timeAt]!;
            own += spread(orders[left]![queued - 1]!, left, column, values, at);
            if (own > best) ownTime += spread(orders[left]![queued - 1]!, left, column, spans, at);
          }
          if (own > best) [best, bestTime, choice] = [own, ownTime, index];
        }
        value[state] = best;
        time[state] = bestTime;
        if (column <= steps) {
          const cell = (queued - 1) * (steps + 1) + steps - column;
          if (cells[cell] !== choice) change++;
          cells[cell] = choice;
        }
      }
    }
    const [zero, zeroTime] = [value[at(1, 0)]!, time[at(1, 0)]!];
    const correction = zero / zeroTime;
    gain += correction;
    for (let state = 0; state < value.length; state++) {
      value[state] = value[state]! - correction * time[state]! - (zero - correction * zeroTime);
      time[state] = 0;
    }
    if (Math.abs(correction) < tolerance * rate && change < 1e-4 * cells.length) break;
  }
  return { gain: gain / rate, cells, sweeps };
}

const POINTS = 12;

/** @returns [left][others] the parts of an age at even quantiles of the order statistic. */
function orderGrid(capacity: number, largest: number): Float64Array[][] {
  const grid: Float64Array[][] = Array.from({ length: capacity + 1 }, () => []);
  for (let others = 1; others < capacity; others++) {
    for (let left = Math.max(1, others + 1 - largest); left <= others; left++) {
      grid[left]![others] = quantilesOfOrder(left, others);
    }
  }
  return grid;
}

/** Of the `left`-th smallest of so many uniform numbers: the chance that it is at most x. */
function below(x: number, left: number, others: number): number {
  let term = Math.exp(others * Math.log1p(-x));
  let sum = 0;
  if (x >= 1) return 1;
  for (let count = 0; count <= others; count++) {
    if (count >= left) sum += term;
    term *= ((others - count) / (count + 1)) * (x / (1 - x));
  }
  return sum;
}

function quantilesOfOrder(left: number, others: number): Float64Array {
  return Float64Array.from({ length: POINTS }, (_, point) => {
    const chance = (point + 0.5) / POINTS;
    let [low, high] = [0, 1];
    for (let halving = 0; halving < 30; halving++) {
      const middle = (low + high) / 2;
      if (below(middle, left, others) < chance) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  });
}

/** The mean of what is at the ages of those left, between columns on a line. */
function spread(
  parts: Float64Array,
  left: number,
  column: number,
  values: Float64Array,
  at: (queued: number, column: number) => number,
): number {
  const age = Math.max(0, column - 0.5);
  let sum = 0;
  for (let point = 0; point < parts.length; point++) {
    // The middle of column c is c − ½ steps.
    const place = Math.max(0, age * parts[point]! + 0.5);
    const low = Math.floor(place);
    const near = values[at(left, low)]!;
    sum += near + (place - low) * (values[at(left, low + 1)]! - near);
  }
  return sum / parts.length;
}

function poisson(mean: number): Float64Array {
  const terms: number[] = [];
  let term = Math.exp(-mean);
  for (let count = 0; count < mean || term > 1e-9; count++) {
    terms.push(term);
    term *= mean / (count + 1);
  }
  return Float64Array.from(terms);
}
