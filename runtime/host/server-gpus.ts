/** Reports the accelerators that a server's workers run on. */

import type { MetricLine } from "../base/exposition.ts";
import { GpuSampler } from "../devices/gpu-sampler.ts";
import { gpuLines, type WorkersOfApplication } from "../server/metrics/gpu-lines.ts";
import type { Workers } from "./server-workers.ts";

/** Fields of a bundle that are used here. */
export interface HostedWorkers {
  readonly application: { readonly name: string };
  readonly workers: Pick<Workers, "devices" | "pids">;
}

/** Looks at accelerators from the time on when a worker is on one. */
export class ServerGpus {
  readonly #hosted: () => readonly HostedWorkers[];
  #sampler: GpuSampler | null = null;

  /** @param hosted returns the bundles served now. */
  constructor(hosted: () => readonly HostedWorkers[]) {
    this.#hosted = hosted;
  }

  /** Starts watching, if there is an accelerator. */
  look(): void {
    const isNeeded = this.#hosted().some(({ workers }) =>
      workers.devices.some(({ provider }) => provider !== "cpu"),
    );
    if (!isNeeded || this.#sampler !== null) return;
    const pids = () =>
      this.#workers().flatMap((one) => one.pids.filter((pid) => pid !== undefined));
    this.#sampler = new GpuSampler(pids);
  }

  lines(): MetricLine[] {
    this.look();
    return gpuLines(this.#sampler?.sample ?? null, this.#workers());
  }

  close(): void {
    this.#sampler?.close();
  }

  #workers(): WorkersOfApplication[] {
    return this.#hosted().map(({ application, workers }) => {
      return { model: application.name, pids: workers.pids() };
    });
  }
}
