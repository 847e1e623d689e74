/** A model that is cut over four execution places as an endpoint. */
import {
  DEEP,
  FakePlaces,
  servedPlaces,
} from "../../../runtime/methods/accordion/serve/fake-places.ts";
import { type FakeWorkers, never, type ServedSubject } from "../served.ts";

const PLACES = [0, 1, 2, 3];
const bundle = servedPlaces({ models: [DEEP] });

export const accordionServed: ServedSubject = {
  bundle,
  openWorkers: openPlaces,
  model: "deep",
  input: {
    name: "x",
    data: [
      [1, 2, 3, 4],
      [5, 6, 7, 8],
    ],
  },
  leastUs: 30_000,
  otherSlo: servedPlaces({ models: [DEEP], sloMs: 2000 }),
  otherLevels: servedPlaces({ models: [DEEP], levels: [{ loadQps: 7 }] }),
  refusal: /cannot be replaced while it is served/,
};

function openPlaces(): FakeWorkers {
  let executor: FakePlaces | undefined;
  return {
    starter: {
      start: async (handlers) => {
        executor = new FakePlaces(handlers, bundle);
        return executor;
      },
      startAssigned: never,
    },
    ready: () => {
      for (const place of PLACES) executor?.ready(place);
    },
    async loseAll() {
      for (const place of PLACES) await executor?.lose(place);
    },
    async hang() {
      await executor?.replace(executor.held[0]?.worker ?? -1, "hung");
    },
    p99sMs: () => executor?.held.map(({ batch }) => batch.p99Ms) ?? [],
    runningCount: () => executor?.held.length ?? 0,
    finish: async () => executor?.finish(),
  };
}
