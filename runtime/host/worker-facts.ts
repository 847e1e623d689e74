/** What workers report of the models they loaded, as notices and as metrics. */

import { head, line, type MetricLine } from "../base/exposition.ts";
import type { Notice } from "../base/notice.ts";
import type { Provider } from "../bundle/schema.ts";
import type { VariantModel } from "../exec/models/executor.ts";
import { fallbackText, type ModelFacts } from "../exec/models/model-facts.ts";

export class WorkerFacts {
  readonly #variants: readonly Pick<VariantModel, "name">[];
  readonly #onNotice: Notice;
  /** Of GPUs, by variant and provider, as the first worker told of it. */
  readonly #told = new Map<string, { readonly facts: ModelFacts; readonly provider: Provider }>();

  constructor(variants: readonly Pick<VariantModel, "name">[], onNotice: Notice) {
    this.#variants = variants;
    this.#onNotice = onNotice;
  }

  /** Of each variant and provider the operator is told once. */
  onModelFacts(facts: ModelFacts, provider: Provider): void {
    const key = `${facts.variant} ${provider}`;
    if (provider === "cpu" || this.#told.has(key)) return;
    this.#told.set(key, { facts, provider });
    const told = fallbackText(facts);
    if (told === null) return;
    const remedy = "refuse such models with --cpu-fallback refuse";
    this.#onNotice(`${this.#nameOf(facts.variant)}: ${told}; ${remedy}`, "warn");
  }

  metricLines(): MetricLine[] {
    if (this.#told.size === 0) return [];
    const name = "stratagem_model_cpu_nodes";
    const samples = [...this.#told.values()]
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

/** NaN where nothing tells how many there are. */
function countOf({ cpuNodes, hasFallback }: ModelFacts): number {
  return hasFallback && cpuNodes.length === 0 ? Number.NaN : cpuNodes.length;
}
