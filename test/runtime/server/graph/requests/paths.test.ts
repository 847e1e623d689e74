import { expect, test } from "vitest";
import type { LokiBundle } from "../../../../../runtime/bundle/schema.ts";
import { EntryCoin } from "../../../../../runtime/methods/loki/serve/entry-coin.ts";
import { answererOf } from "../../../../../runtime/server/graph/requests/paths.ts";
import {
  PipelineQuery,
  type PipelineRequest,
} from "../../../../../runtime/server/graph/requests/pipeline-request.ts";
import {
  type PipelineSignature,
  pipelineSignatureOf,
} from "../../../../../runtime/server/graph/signature/pipeline-signature.ts";
import { TREE_TASKS, treeBundle } from "../../../../support/loki-samples.ts";

/**
 * A detector with cars, of weight 3/4, and faces behind it. Variants of all: detect small, large,
 * cars small, large, faces only.
 */
function tree(): { bundle: LokiBundle; signature: PipelineSignature } {
  const weights: Readonly<Record<string, number>> = { cars: 0.75, faces: 0.25 };
  const tasks = TREE_TASKS.map((task) => {
    const weight = weights[task.name];
    return weight === undefined ? task : { ...task, weight };
  });
  const bundle = treeBundle({ tasks });
  const x = { name: "x", dtype: "float32", shape: [-1, 2] };
  const served: LokiBundle = {
    ...bundle,
    tasks: bundle.tasks.map((task) => ({
      ...task,
      feed: task.parent === null ? null : { inputs: [{ input: "x", output: "x" }], count: null },
      variants: task.variants.map((variant) => ({
        ...variant,
        model: { file: "m.onnx", sha256: "", inputs: [x], outputs: [x] },
      })),
    })),
  };
  return { bundle: served, signature: pipelineSignatureOf(served) };
}

function done(task: number, variant: number, parent: PipelineQuery | null): PipelineQuery {
  const query = new PipelineQuery({} as PipelineRequest, task, parent, []);
  query.variant = variant;
  return query;
}

test("leaves count by their weights, whatever the number of their queries", () => {
  const { bundle, signature } = tree();
  const detector = done(0, 1, null);
  const cars = [2, 2, 3].map((variant) => done(1, variant, detector));
  const faces = [done(2, 4, detector)];
  detector.children = [cars, faces];
  const { variant, accuracy } = answererOf(bundle, signature)([[detector], cars, faces]);
  expect(variant).toBe("large|small:2,large|large:1,large|only:1");
  expect(accuracy).toBeCloseTo(0.75 * ((0.8 + 0.8 + 1) / 3) + 0.25 * 0.9, 12);
});

test("a leaf that nothing reached does not count", () => {
  const { bundle, signature } = tree();
  const detector = done(0, 0, null);
  const faces = [done(2, 4, detector)];
  detector.children = [[], faces];
  const { variant, accuracy } = answererOf(bundle, signature)([[detector], [], faces]);
  expect([variant, accuracy]).toEqual(["small|only", 0.6 * 0.9]);
});

test("where nothing came out at all, the detector answered", () => {
  const { bundle, signature } = tree();
  const detectors = [done(0, 0, null), done(0, 1, null)];
  const { variant, accuracy } = answererOf(bundle, signature)([detectors, [], []]);
  expect([variant, accuracy]).toEqual(["small:1,large:1", 0.8]);
});

test("the coin of an entry falls the same way every time, in its share", () => {
  const rows = { isFanout: false, isGather: false };
  const entry = { parent: null, child: 0, share: 1, feed: null, ...rows };
  const edges = [entry, { ...entry, child: 1, share: 0.3 }];
  const entries = new EntryCoin(edges).entriesOf(2000);
  expect(new EntryCoin(edges).entriesOf(2000)).toEqual(entries);
  expect(entries.filter(({ task }) => task === 0)).toHaveLength(2000);
  const share = entries.filter(({ task }) => task === 1).length / 2000;
  // Four standard deviations.
  expect(Math.abs(share - 0.3)).toBeLessThan(4 * Math.sqrt((0.3 * 0.7) / 2000));
});
