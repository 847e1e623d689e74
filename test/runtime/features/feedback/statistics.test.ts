/** Confidence intervals of accuracy under continuous monitoring. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Rng } from "../../../../runtime/core/rng.ts";
import { logEvidence, shareInterval } from "../../../../runtime/features/feedback/confidence.ts";
import { FeedbackBook } from "../../../../runtime/features/feedback/feedback-book.ts";

const ALPHA = 0.05;

function uniform(seed: number): () => number {
  const rng = new Rng(seed, 0);
  return () => rng.nextFloat();
}

/** Chance of `misses` failures or more in `runs` trials, were each to fail with chance `alpha`. */
function tail(misses: number, runs: number, alpha: number): number {
  let [term, sum] = [(1 - alpha) ** runs, 0];
  for (let k = 0; k < runs; k++) {
    if (k >= misses) sum += term;
    term *= ((runs - k) / (k + 1)) * (alpha / (1 - alpha));
  }
  return sum;
}

test.each([0.5, 0.9, 0.985])(
  "excludes a probability of %d no more often than stated, checked after every trial",
  (chance) => {
    const random = uniform(22);
    const [runs, trials] = [250, 2000];
    let misses = 0;
    for (let run = 0; run < runs; run++) {
      let [right, wrong, isMissed] = [0, 0, false];
      for (let trial = 0; trial < trials; trial++) {
        if (random() < chance) right++;
        else wrong++;
        isMissed ||= logEvidence(right, wrong, chance) > -Math.log(ALPHA);
      }
      if (isMissed) misses++;
    }
    // Were the chance above what is stated, so few would be a rare accident, and so many no more.
    expect(tail(misses, runs, ALPHA)).toBeGreaterThan(0.01);
  },
);

test("an interval contains exactly the probabilities that are not refuted", () => {
  fc.assert(
    fc.property(fc.nat(5000), fc.nat(5000), (right, wrong) => {
      const { lower, upper } = shareInterval(right, wrong, ALPHA);
      const share = right + wrong === 0 ? 0.5 : right / (right + wrong);
      expect(lower).toBeLessThanOrEqual(share);
      expect(upper).toBeGreaterThanOrEqual(share);
      const limit = -Math.log(ALPHA);
      if (lower > 0) {
        expect(logEvidence(right, wrong, lower * (1 - 1e-9))).toBeGreaterThan(limit - 1e-6);
        expect(logEvidence(right, wrong, lower * (1 + 1e-6))).toBeLessThanOrEqual(limit);
      }
      if (upper < 1) {
        expect(logEvidence(right, wrong, upper + 1e-9 * (1 - upper))).toBeGreaterThan(limit - 1e-6);
        expect(logEvidence(right, wrong, upper - 1e-6 * (1 - upper))).toBeLessThanOrEqual(limit);
      }
    }),
  );
});

test("evidence is the wealth of bets at the odds observed so far", () => {
  const random = uniform(3);
  let [right, wrong, log] = [0, 0, 0];
  for (let trial = 0; trial < 500; trial++) {
    // Krichevsky and Trofimov's estimate, one trial after the other.
    const bet = (right + 0.5) / (right + wrong + 1);
    const isRight = random() < 0.8;
    log += isRight ? Math.log(bet / 0.7) : Math.log((1 - bet) / 0.3);
    if (isRight) right++;
    else wrong++;
    expect(logEvidence(right, wrong, 0.7)).toBeCloseTo(log, 9);
  }
});

test("the interval is 0..1 without trials and narrows with them", () => {
  expect(shareInterval(0, 0, ALPHA)).toEqual({ lower: 0, upper: 1 });
  const widths = [10, 100, 1000, 10_000].map((trials) => {
    const { lower, upper } = shareInterval(0.9 * trials, 0.1 * trials, ALPHA);
    return upper - lower;
  });
  expect(widths).toEqual(widths.toSorted((a, b) => b - a));
  expect(widths.at(-1)).toBeLessThan(0.025);
});

test("a variant's evidence is its labels, and paths have none", () => {
  const profiledByVariant = new Map([
    ["small", 0.6],
    ["large", 0.8],
  ]);
  const signature = { names: ["m"], inputs: [], outputs: [], variants: [], answersByRow: true };
  const options = { model: "m", maxRows: 9, retentionMs: 9, sinceEpochMs: 0 };
  const own = new FeedbackBook({ ...options, signature, profiledByVariant });
  const paths = { ...signature, answersByRow: false, variants: [{ name: "a" }, { name: "b" }] };
  const others = new FeedbackBook({ ...options, signature: paths, profiledByVariant });
  for (const { counts } of [own, others]) {
    counts.onLabel("small", true);
    counts.onLabel("small", false);
  }
  expect(own.labelled()).toEqual([{ variant: "small", asked: 2, correct: 1 }]);
  expect(others.labelled()).toEqual([]);
});
