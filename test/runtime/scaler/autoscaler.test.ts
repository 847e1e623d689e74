/** Reaction of the horizontal pod autoscaler to the scaler's values, for every count up to 200. */
import { expect, test } from "vitest";
import { past } from "../../../runtime/scaler/trigger.ts";

const MOST = 200;
const TOLERANCE = 0.1;

type Within = (ratio: number) => boolean;

/** kube-controller-manager up to 1.32, and since 1.33, where the bounds are computed beforehand. */
const WITHIN: readonly Within[] = [
  (ratio) => Math.abs(1 - ratio) <= TOLERANCE,
  (ratio) => 1 - TOLERANCE <= ratio && ratio <= 1 + TOLERANCE,
];

/**
 * Replicas by `GetExternalPerPodMetricReplicas` of podautoscaler/replica_calculator.go, which is
 * asked for `metricType: AverageValue`: a metric in thousandths, over a target of 1.
 */
function replicasBy(isWithin: Within, metric: number, current: number): number {
  const usage = Math.ceil(metric * 1000);
  const ratio = usage / (1000 * current);
  return isWithin(ratio) ? current : Math.ceil(usage / 1000);
}

/** What there is in the end, once the autoscaler has looked as often as it takes. */
function settled(isWithin: Within, wanted: number, from: number): number {
  let current = from;
  for (let look = 0; look < 5; look++) {
    current = replicasBy(isWithin, past(wanted, current, TOLERANCE), current);
  }
  return current;
}

const counts = Array.from({ length: MOST }, (_, index) => index + 1);

test.each([0, 1])(
  "by rule %i the required replicas start, or the fewest possible above them",
  (rule) => {
    const isWithin = WITHIN[rule];
    if (isWithin === undefined) throw new Error("no such rule");
    const wrong: string[] = [];
    for (const current of counts) {
      for (const wanted of counts) {
        const got = settled(isWithin, wanted, current);
        const isNear = isWithin(wanted / current);
        const fewest = Math.floor(current * 1.1 + 1e-9) + 1;
        const expected = !isNear ? wanted : wanted <= current ? current : fewest;
        // At exactly a tenth more the rules differ by a rounding; the scaler asks past both.
        const isEdge = wanted > current && 10 * wanted === 11 * current;
        if (got !== expected && !(isEdge && got === fewest)) {
          wrong.push(`${current} -> ${wanted}: ${got}`);
        }
        if (got < wanted) wrong.push(`${current} -> ${wanted}: too few, ${got}`);
      }
    }
    expect(wrong).toEqual([]);
  },
);

test("up to nine replicas every count is reached; above, the excess is bounded", () => {
  const [isWithin = () => false] = WITHIN;
  const excessFrom = (current: number) =>
    Math.max(...counts.map((wanted) => settled(isWithin, wanted, current) - wanted));
  expect(counts.slice(0, 9).map(excessFrom)).toEqual(Array(9).fill(0));
  expect([10, 20, 50, 100, 200].map(excessFrom)).toEqual([1, 2, 5, 10, 20]);
});

test("without the correction the autoscaler would never scale from 20 to 21", () => {
  for (const isWithin of WITHIN) {
    expect(replicasBy(isWithin, 21, 20)).toBe(20);
    expect(settled(isWithin, 21, 20)).toBe(23);
  }
});
