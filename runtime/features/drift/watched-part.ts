/** Compares promises with measurements, once a second, and reports measured times. */
import type { Application, ApplicationPart } from "../../server/applications/application.ts";
import type { Route } from "../../server/http/route.ts";
import { Drift, type DriftOptions } from "./drift.ts";
import { PredictedTimes } from "./predicted-times.ts";

const LOOK_MS = 1000;

type Own = Pick<DriftOptions, "hoursPerFalseAlarm" | "nowMs" | "epochOffsetMs">;

export function watchedPart(application: Application, own: Own): ApplicationPart {
  const { endpoint, onNotice, sloMs } = application;
  const { watched } = endpoint;
  const { tasks } = endpoint.bundle;
  const stated = tasks.flatMap(({ name, variants }) =>
    variants.map(({ name: variant, accuracy }) => ({
      task: tasks.length > 1 ? name : undefined,
      variant,
      accuracy,
    })),
  );
  const labelled = () => application.labelled();
  const drift = new Drift({ ...own, watched, stated, labelled, onNotice });
  const predicted = new PredictedTimes(endpoint.models, sloMs);
  const look = () => {
    drift.look();
    predicted.look(watched.reading());
  };
  const looks = setInterval(look, LOOK_MS).unref();
  return {
    lines: () => {
      predicted.look(watched.reading());
      return [...drift.lines(), ...predicted.lines()];
    },
    promises: () => drift.states(),
    close: () => clearInterval(looks),
  };
}

/** Batch times of all applications, from which `profile --from` makes a profile. */
export const timesRoute: Route = {
  paths: ["/v2/stratagem/times"],
  methods: "GET",
  need: "metrics",
  answer: ({ state }) => {
    const applications = state.applications.map(({ name, endpoint }) => {
      return { application: name, ...endpoint.watched.times.measured() };
    });
    const atMs = state.nowMs() + state.epochOffsetMs();
    return { status: 200, document: { format: "stratagem-times/1", atMs, applications } };
  },
};
