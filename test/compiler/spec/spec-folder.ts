import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { InputError } from "../../../compiler/spec/document/input-error.ts";
import { loadApplication } from "../../../compiler/spec/load-application.ts";

const root = mkdtempSync(join(tmpdir(), "stratagem-spec-"));
let folderCount = 0;

/** A new folder with these files. @returns its path. */
export function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = join(root, String(folderCount++));
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
  return folder;
}

/** Code and message of the InputError that `run` throws, with paths relative to `folder`. */
export function mistakeOf(folder: string, run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return `${error.code} ${error.message.replaceAll(`${folder}/`, "")}`;
  }
  return "no mistake";
}

/** A spec without mistakes; `edited` makes one with them. */
export const SPEC = `version: 1
application: demo
slo: { latency: 150 ms }
workload:
  arrivals: { process: poisson }
  loads: [100, 200]
cluster:
  workers: 4
tasks:
  - name: classify
    variants:
      - { name: small, accuracy: 0.58, profile: profile.json#small }
      - { name: large, profile: profile.json#large }
policy:
  method: ramsis
`;

/** A pipeline: source fans out to detect and caption, detect leads to identify. */
export const PIPELINE = `version: 1
application: pipeline
slo: { latency: 150 ms }
workload:
  arrivals: { process: poisson }
  loads: [100]
cluster:
  workers: 4
tasks:
  - name: source
    passThrough: true
    to: [{ task: detect, share: 1 }, { task: caption, share: 0.5 }]
  - name: detect
    variants:
      - { name: n, accuracy: 0.5, profile: profile.json#small, fanout: { identify: 2.5 } }
    to: [{ task: identify }]
  - name: identify
    variants:
      - { name: a, accuracy: 0.5, profile: profile.json#small }
      - { name: b, accuracy: 0.6, profile: profile.json#large }
  - name: caption
    variants:
      - { name: c, accuracy: 0.5, profile: profile.json#large }
policy:
  method: loki
`;

export const PROFILE = `{
  "format": "latency-profile/1",
  "hardware": "cpu",
  "percentile": 95,
  "variants": {
    "small": { "latencyMs": { "1": 20, "2": 30, "10": 90 } },
    "large": {
      "accuracy": 0.72,
      "latencyMs": { "1": { "p50": 40, "p95": 50, "p99": 60, "mean": 45 } },
      "fit": { "gamma": 1, "epsilon": 2, "delta": 3, "eta": -4 }
    }
  }
}
`;

/** `text` with the first `from` replaced, which must be there. */
export function edited(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`nothing to edit: ${from}`);
  return text.replace(from, () => to);
}

/** Code and message for a spec and the profile it names, or "no mistake". */
export function mistakeOfSpec(spec: string, profile: string): string {
  const folder = folderOf({ "app.yaml": spec, "profile.json": profile, "folder/file": "" });
  return mistakeOf(folder, () => loadApplication(`${folder}/app.yaml`));
}
