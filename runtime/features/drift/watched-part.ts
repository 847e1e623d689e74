/** Watches the promises of one application, once a second. */
import type { Application, ApplicationPart } from "../../server/applications/application.ts";
import { Drift, type DriftOptions } from "./drift.ts";

const LOOK_MS = 1000;

type Own = Pick<DriftOptions, "hoursPerFalseAlarm" | "nowMs" | "epochOffsetMs">;

export function watchedPart(application: Application, own: Own): ApplicationPart {
  const { endpoint, onNotice } = application;
  const { tasks } = endpoint.bundle;
  const stated = tasks.flatMap(({ name, variants }) =>
    variants.map(({ name: variant, accuracy }) => ({
      task: tasks.length > 1 ? name : undefined,
      variant,
      accuracy,
    })),
  );
  const labelled = () => application.labelled();
  const drift = new Drift({ ...own, watched: endpoint.watched, stated, labelled, onNotice });
  const looks = setInterval(() => drift.look(), LOOK_MS).unref();
  return {
    lines: () => drift.lines(),
    promises: () => drift.states(),
    close: () => clearInterval(looks),
  };
}
