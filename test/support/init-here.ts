/** `init` in this process, in a folder of its own. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Ask } from "../../compiler/init/questions.ts";
import type { Reader } from "../../compiler/init/read-model.ts";
import { type InitOptions, initCommand } from "../../compiler/init/write-spec.ts";
import { readDocument } from "../../compiler/spec/document/document.ts";
import { parseStructure } from "../../compiler/spec/document/structure.ts";
import { applicationSchema } from "../../compiler/spec/schema/application-schema.ts";
import { probeHost, readHost, sampleHost } from "../../runtime/exec/modules/host-source.ts";
import { describeModel } from "../../runtime/exec/onnx/model-file.ts";
import { probeModelFile } from "../../runtime/exec/tensors/probe-tensors.ts";

export const initFolder = mkdtempSync(join(tmpdir(), "stratagem-init-"));
const reader: Reader = {
  describe: describeModel,
  probeFile: probeModelFile,
  probeHost,
  readHost: (source) => readHost(source, 10_000),
  sample: async (...how) => {
    const sample = await sampleHost(...how);
    return sample?.map((text) => Buffer.from(text, "base64")) ?? null;
  },
};
let count = 0;

/** Writes a spec, and reads it again. */
export async function initHere(
  models: readonly string[],
  more: Partial<InitOptions> = {},
  ask?: Ask,
) {
  const out = join(initFolder, `app-${count++}.yaml`);
  const options: InitOptions = {
    models,
    out,
    slo: "200 ms",
    loads: [1, 10],
    workers: null,
    accuracies: new Map(),
    axes: {},
    force: false,
    ...more,
  };
  const { text } = await initCommand(options, reader, ask ?? null);
  return { text, out, spec: parseStructure(readDocument(out), applicationSchema) };
}

/** Writes a file into the folder. @returns its path. */
export function initFile(name: string, bytes: Uint8Array | string): string {
  const path = join(initFolder, name);
  writeFileSync(path, bytes);
  return path;
}
