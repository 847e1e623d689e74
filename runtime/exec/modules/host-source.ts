/**
 * Tasks that are ES modules or remote models: their source in a spec and their entry in the bundle.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { ModelFile } from "../../bundle/schema.ts";
import { Rng } from "../../core/rng.ts";
import { sampleOf } from "./module-model.ts";
import { packageEntry } from "./module-path.ts";
import { type OpenedModule, openModule } from "./opened-module.ts";
import { RemoteEndpoint } from "./remote-endpoint.ts";

/** An ES module: a file, or what a package has. */
interface ModuleSource {
  readonly kind: "module";
  /** Path of the file; null for an entry of a package. */
  readonly path: string | null;
  /** Specifier as in `import`; null for a file. */
  readonly specifier: string | null;
  /** JSON with its keys in ascending order. */
  readonly options: string;
  /** Folder of the spec. */
  readonly folder: string;
}

interface RemoteSource {
  readonly kind: "remote";
  readonly url: string;
  readonly model: string;
}

export type HostSource = ModuleSource | RemoteSource;

/** Returns the path of the entry. @throws Error if no package has it. */
export function entryOf({ path, specifier, folder }: ModuleSource): string {
  return path ?? packageEntry(specifier ?? "", folder);
}

/**
 * Opens a module, or asks a server, far enough to know its tensors.
 * @throws Error if it cannot be opened, does not answer, or declares something invalid.
 */
export async function readHost(source: HostSource, timeoutMs: number): Promise<ModelFile> {
  if (source.kind === "remote") return readRemote(source, timeoutMs);
  const { specifier, options } = source;
  const path = entryOf(source);
  const opened = await openSource(source);
  await opened.module.close?.();
  const { sha256, inputs, outputs } = opened;
  return { file: basename(path), sha256, inputs, outputs, module: { specifier, options } };
}

/**
 * Returns the bytes of every input for a batch, as base64; null for a module without samples.
 * @throws Error if the samples do not match the declared inputs.
 */
export async function sampleHost(
  source: HostSource,
  rows: number,
  seed: number,
): Promise<string[] | null> {
  if (source.kind === "remote") return null;
  const opened = await openSource(source);
  const sample = await sampleOf(opened, rows, seed);
  await opened.module.close?.();
  return sample?.map((bytes) => Buffer.from(bytes).toString("base64")) ?? null;
}

/** Observations of a run of a module on its own samples. */
export interface ProbedHost {
  /** Milliseconds for each row. */
  readonly ranMs: number;
  /** Outputs that had another number of rows than the inputs. */
  readonly counted: readonly string[];
}

/**
 * Runs a module on its samples; null for one without samples.
 * @param most rows, for a module that accepts so many.
 * @throws Error if it refuses them.
 */
export async function probeHost(source: HostSource, most: number): Promise<ProbedHost | null> {
  if (source.kind === "remote") return null;
  const { module, batches } = await openSource(source);
  const rows = batches === null || batches.includes(most) ? most : 1;
  const rng = new Rng(0, 0);
  const inputs = await module.sample?.(rows, () => rng.nextFloat());
  if (inputs === undefined) return null;
  await module.run(inputs, rows);
  const startMs = performance.now();
  const outputs = await module.run(inputs, rows);
  const ranMs = (performance.now() - startMs) / rows;
  await module.close?.();
  const counted = Object.keys(outputs).filter((name) => outputs[name]?.shape[0] !== rows);
  return { ranMs, counted };
}

function openSource(source: ModuleSource): Promise<OpenedModule> {
  const { options, folder } = source;
  return openModule({ path: entryOf(source), options, folder, cores: 1 });
}

async function readRemote({ url, model }: RemoteSource, timeoutMs: number): Promise<ModelFile> {
  const { inputs, outputs } = await new RemoteEndpoint(url, model, timeoutMs).tensors();
  const sha256 = createHash("sha256")
    .update(JSON.stringify([inputs, outputs]))
    .digest("hex");
  const file = model.replaceAll(/[\\/]/g, "_");
  return { file, sha256, inputs, outputs, remote: { url, model } };
}
