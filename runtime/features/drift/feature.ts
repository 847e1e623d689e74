/** Drift: compares a server's measurements with the promises of its bundles. */
import { count, truth } from "../../kinds/kinds.ts";
import { setting } from "../../kinds/setting.ts";
import { serverFeature } from "../server-feature.ts";

export const drift = serverFeature({
  name: "drift",
  title: "Drift",
  settings: {
    readyNeedsPromises: setting(
      truth,
      false,
      "report not ready at /v2/health/ready while a promise is broken",
    ),
  },
  limits: {
    hoursPerFalseAlarm: setting(
      count({ least: 1, most: 1_000_000 }),
      1000,
      "minimum mean time between false alarms of broken promises, in hours per application",
    ),
  },
  open: async ({ readyNeedsPromises, hoursPerFalseAlarm }, { nowMs, epochOffsetMs }) => {
    const { timesRoute, watchedPart } = await import("./watched-part.ts");
    return {
      routes: [timesRoute],
      opened: (application) =>
        watchedPart(application, { hoursPerFalseAlarm, nowMs, epochOffsetMs }),
      isFit: (served) =>
        !readyNeedsPromises ||
        served.every((application) => application.promises().every(({ holds }) => holds)),
    };
  },
});
