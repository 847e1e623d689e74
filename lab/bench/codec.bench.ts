/**
 * Encoding and decoding a bundle of 200 levels of 33 × 101 states. Targets: encode < 3 ms, decode
 * and verify < 2 ms.
 */
import { gzipSync } from "node:zlib";
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { decodeBundle, encodeBundle } from "stratagem-runtime/internal/bundles/checked-bundle";
import { bench, describe } from "vitest";
import { sampleBundle } from "../../test/support/sample-bundle.ts";
import { type TinyVariant, tinyBundle } from "../../test/support/tiny-bundle.ts";

const LEVEL_COUNT = 200;

const variants: readonly TinyVariant[] = [0.58, 0.66, 0.72, 0.76, 0.79].map((accuracy, index) => ({
  name: `variant-${index}`,
  accuracy,
  latencyMs: (batch) => (index + 1) * (4 + 2 * batch),
}));

/**
 * Tables that change gradually from level to level, as solved ones do: the slack that a level holds
 * back grows with its load.
 */
function largeBundle(): RamsisBundle {
  const loadsQps = Array.from({ length: LEVEL_COUNT }, (_, level) => 20 * (level + 1));
  return tinyBundle({
    variants,
    sloMs: 150,
    maxQueue: 32,
    slackSteps: 100,
    loadsQps,
    decide: ({ level, queued, slackMs }) => {
      const left = slackMs - level / 4;
      const last = variants.findLastIndex(({ latencyMs }) => latencyMs(queued) <= left);
      return { variant: Math.max(0, last), batch: queued };
    },
  });
}

const bundle = largeBundle();
const bytes = encodeBundle(bundle);
const small = encodeBundle(sampleBundle());
const [raw, gzipped] = [bytes.length, gzipSync(bytes).length];

describe(`${LEVEL_COUNT} levels of 33 × 101: ${raw} bytes, ${gzipped} with gzip`, () => {
  bench("validate and encode", () => void encodeBundle(bundle));
  bench("verify, decode and validate", () => void decodeBundle(bytes));
});

describe(`2 levels of 5 × 7: ${small.length} bytes`, () => {
  bench("verify, decode and validate", () => void decodeBundle(small));
});
