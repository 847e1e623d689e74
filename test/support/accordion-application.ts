/** An application of malleable pipelines of which one model is a file, in a folder of its own. */
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = mkdtempSync(join(tmpdir(), "stratagem-accordion-"));
let folderCount = 0;

/** Layers of models/scenes/mlp-s.onnx. */
const LAYERS = [0.01, 0.01, 0.01, 0.02, 0.1, 0.01, 0.2, 0.02, 0.01, 0.04];

const PROFILE = {
  format: "latency-profile/1",
  hardware: "test",
  variants: {
    mlp: {
      layers: {
        ms: LAYERS,
        overheadMs: 0.05,
        stages: { "0-10": { p50: 0.4, p95: 0.5, p99: 0.6, mean: 0.42 } },
      },
    },
    deep: { layers: { ms: [4, 6, 3, 7, 5, 5], overheadMs: 1, stages: {} } },
    sped: { latencyMs: { 1: 20 }, speedups: { 2: 1.5, 4: 2 } },
    plain: { latencyMs: { 1: 3 } },
  },
};

const SPEC = `version: 1
application: places
slo: { latency: 200 ms, maxViolationRate: 5% }
workload: { arrivals: { process: poisson }, loads: [10, 40] }
cluster: { workers: 4 }
tasks:
  - name: classify
    variants:
      - { name: small, accuracy: 0.7, profile: profile.json#mlp, model: mlp-s.onnx }
      - { name: deep, accuracy: 0.9, profile: profile.json#deep }
      - { name: sped, accuracy: 0.8, profile: profile.json#sped }
policy: { method: accordion, maxDepth: 4, maxBatch: 8, meanBatch: 2 }
`;

export type Change = readonly [from: string, to: string];

/** A folder with the application in it. @returns the folder. */
export function accordionApplication(...changes: readonly Change[]): string {
  const home = join(root, String(folderCount++));
  mkdirSync(home);
  writeFileSync(join(home, "profile.json"), JSON.stringify(PROFILE));
  copyFileSync("models/scenes/mlp-s.onnx", join(home, "mlp-s.onnx"));
  const spec = changes.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`no ${from}`);
    return text.replace(from, to);
  }, SPEC);
  writeFileSync(join(home, "app.yaml"), spec);
  return home;
}
