/**
 * Minimises a function of a few variables by values alone.
 *
 * The simplex method with reflection 1, expansion 2, contraction ½ and shrinkage ½. Deterministic;
 * it may end in a local minimum. Source: J. A. Nelder and R. Mead, "A Simplex Method for Function
 * Minimization", Computer Journal 7 (1965).
 */

interface Minimum {
  readonly point: readonly number[];
  readonly value: number;
}

/**
 * @param steps edge of the first simplex along each variable, not 0.
 * @param maxEvaluations of `f`; the last step may take a few more.
 */
export function minimise(
  f: (point: readonly number[]) => number,
  start: readonly number[],
  steps: readonly number[],
  maxEvaluations: number,
): Minimum {
  let evaluations = 0;
  const at = (point: readonly number[]): Minimum => {
    evaluations++;
    return { point, value: f(point) };
  };
  let simplex = [at(start)];
  steps.forEach((step, axis) => {
    simplex.push(at(start.map((x, index) => (index === axis ? x + step : x))));
  });
  const size = start.length;
  for (;;) {
    simplex.sort((a, b) => a.value - b.value);
    const best = simplex[0]!;
    const worst = simplex[size]!;
    if (evaluations >= maxEvaluations) return best;
    const centre = start.map((_, axis) => {
      let sum = 0;
      for (let vertex = 0; vertex < size; vertex++) sum += simplex[vertex]!.point[axis]!;
      return sum / size;
    });
    const along = (t: number): Minimum =>
      at(centre.map((x, axis) => x + t * (worst.point[axis]! - x)));
    const reflected = along(-1);
    if (reflected.value < best.value) {
      const expanded = along(-2);
      simplex[size] = expanded.value < reflected.value ? expanded : reflected;
    } else if (reflected.value < simplex[size - 1]!.value) {
      simplex[size] = reflected;
    } else {
      const contracted = along(reflected.value < worst.value ? -0.5 : 0.5);
      if (contracted.value < Math.min(reflected.value, worst.value)) simplex[size] = contracted;
      else {
        simplex = simplex.map((vertex, index) => {
          if (index === 0) return vertex;
          return at(vertex.point.map((x, axis) => (x + best.point[axis]!) / 2));
        });
      }
    }
  }
}
