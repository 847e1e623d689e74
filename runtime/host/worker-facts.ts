/** Notices and metrics about the models that workers loaded. */

import { head, line, type MetricLine } from "../base/exposition.ts";
import type { Notice } from "../base/notice.ts";
import type { Provider } from "../bundle/schema.ts";
import type { VariantModel } from "../exec/models/executor.ts";
import { fallbackText, type ModelFacts } from "../exec/models/model-facts.ts";

export class WorkerFacts {
  readonly #variants: readonly Pick<VariantModel, "name">[];
  readonly #onNotice: Notice;
  /** First report of each variant and provider, for GPUs. */
  readonly #factsByModel = new Map<
    string,
    { readonly facts: ModelFacts; readonly provider: Provider }
  >();

  constructor(variants: readonly Pick<VariantModel, "name">[], onNotice: Notice) {
    this.#variants = variants;
    this.#onNotice = onNotice;
  }

  /** Notifies the operator once of each variant and provider. */
  onModelFacts(facts: ModelFacts, provider: Provider): void {
    const key = `${facts.variant} ${provider}`;
    if (provider === "cpu" || this.#factsByModel.has(key)) return;
    this.#factsByModel.set(key, { facts, provider });
    const fallback = fallbackText(facts);
    if (fallback === null) return;
    const remedy = "refuse such models with --cpu-fallback refuse";
    this.#onNotice(`${this.#nameOf(facts.variant)}: ${fallback}; ${remedy}`, "warn");
  }

  metricLines(): MetricLine[] {
    if (this.#factsByModel.size === 0) return [];
    const name = "stratagem_model_cpu_nodes";
    const samples = [...this.#factsByModel.values()]
      .sort((a, b) => a.facts.variant - b.facts.variant)
      .map(({ facts, provider }) => {
        return line(name, { variant: this.#nameOf(facts.variant), provider }, countOf(facts));
      });
    const help = "Nodes that run on the CPU though their workers are on a GPU; NaN for some";
    return [head(name, "gauge", help), ...samples];
  }

  #nameOf(variant: number): string {
    return this.#variants[variant]?.name ?? "";
  }
}

/** Returns NaN if the number of nodes is unknown. */
function countOf({ cpuNodes, hasFallback }: ModelFacts): number {
  return hasFallback && cpuNodes.length === 0 ? Number.NaN : cpuNodes.length;
}
