/** Defaults for the members that a method may leave out. */
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import type { BundleFrame } from "../model/frames.ts";
import { modelFitMistakes } from "../model/model-fit.ts";
import type { MethodExtras } from "./method.ts";

export const METHOD_DEFAULTS: MethodExtras = {
  keepsState: false,
  feeds: "every edge",
  modelMistakes: (application, models) => modelFitMistakes(application, models, "every edge"),
  openModels: async () => null,

  searched: (_, loadsQps) => new Set(loadsQps),
  moved() {
    throw new RangeError("only methods that search some loads move levels");
  },
  dividesSearch: () => false,
  marginByLevel: false,
  afterLevels: (_, solved) => solved,
  settle: async (_, level) => level,
  gapOf: () => ({ accuracy: 0, otherSteps: 0 }),
  bundle: (frame, levels, provenance) => ({ ...frame, levels, provenance }) as Bundle,
  frameOf({ levels: _levels, provenance: _provenance, ...bundle }) {
    const { paceLevels: _paced, ...frame } = { paceLevels: null, ...bundle };
    return frame as BundleFrame;
  },

  paces: null,
  plannedWorkers: ({ cluster }) => cluster.pools.map(({ workers }) => workers),
  scales: false,
  isRecomputable: () => true,
  promisesAlone: false,
  actionValues({ method }) {
    throw new TypeError(`method ${method} has no action values`);
  },
  batchFacts: () => ({ profiled: null, state: null, rule: null }),

  servesWhole: false,
  profiled: null,
  requestsOf: () => null,
  baselineLevel: () => null,
  hasServiceTimeQuantiles: () => false,
  promisesQuantiles: ({ cluster }) => cluster.serving !== undefined,

  tablesAround: () => ({ before: [], after: [] }),
  costsOverDay: false,
  overDay: () => null,
};
