/** Samples accelerators, and the memory of workers on them, periodically. */
import { existsSync, readdirSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { drmMemoryBytes } from "./drm-memory.ts";
import { modelEnvironment } from "./model-environment.ts";
import { type GpuSample, memoryByPid, sampleGpus } from "./nvidia-smi.ts";

const INTERVAL_MS = 5000;
/** Age beyond which a sample is ignored, because the driver hangs. */
const STALE_MS = 15_000;
const DRM = "/dev/dri";

export interface DeviceSample {
  readonly gpus: readonly GpuSample[];
  /** Memory of accelerators by process id. */
  readonly bytesByPid: ReadonlyMap<number, number>;
}

/** Samples until closed, or until it finds that nothing can be read. */
export class GpuSampler {
  readonly #pids: () => readonly number[];
  readonly #hasDrm = hasDrm();
  #hasNvidia = true;
  #timer: NodeJS.Timeout | undefined;
  #latest: { readonly sample: DeviceSample; readonly sinceMs: number } | null = null;
  #isClosed = false;

  /** @param pids returns the processes whose memory is measured, for each sample. */
  constructor(pids: () => readonly number[]) {
    this.#pids = pids;
    void this.#look();
  }

  /** Latest sample; null if missing or outdated. */
  get sample(): DeviceSample | null {
    if (this.#latest === null || performance.now() - this.#latest.sinceMs > STALE_MS) return null;
    return this.#latest.sample;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const env = modelEnvironment();
    try {
      const gpus = this.#hasNvidia ? await sampleGpus(env) : [];
      const bytesByPid = new Map(this.#hasNvidia ? await memoryByPid(env) : []);
      for (const pid of this.#hasDrm ? this.#pids() : []) {
        const bytes = bytesByPid.has(pid) ? null : drmMemoryBytes(await descriptorsOf(pid));
        if (bytes !== null) bytesByPid.set(pid, bytes);
      }
      this.#latest = { sample: { gpus, bytesByPid }, sinceMs: performance.now() };
    } catch (error) {
      // Other failures may be temporary.
      this.#hasNvidia &&= !isMissing(error);
    }
    if (this.#isClosed || !(this.#hasNvidia || this.#hasDrm)) return;
    this.#timer = setTimeout(() => void this.#look(), INTERVAL_MS).unref();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function hasDrm(): boolean {
  return existsSync(DRM) && readdirSync(DRM).some((name) => name.startsWith("renderD"));
}

/** Texts of a process's descriptors; empty if it has ended. */
async function descriptorsOf(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fdinfo`;
  const names = await readdir(folder).catch(() => []);
  return Promise.all(names.map((name) => readFile(`${folder}/${name}`, "latin1").catch(() => "")));
}
