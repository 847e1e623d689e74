/** Feature that passes ended requests, and the events of cores, to the decision log. */
import type { Bundle } from "../../bundle/schema.ts";
import type { ServingFeature } from "../server-feature.ts";
import type { DecisionLog, FollowedCore } from "./decision-log.ts";

export function followedBy(log: DecisionLog): ServingFeature {
  // Each application is opened with a bundle object of its own.
  const coreByBundle = new WeakMap<Bundle, FollowedCore>();
  return {
    hooks: {
      ended: (record) => {
        if (record.model !== "") log.take(record);
      },
    },
    metricLines: () => log.lines(),
    recorder: (bundle) => {
      const core = log.follow(bundle);
      coreByBundle.set(bundle, core);
      return (entry) => core.onEntry(entry);
    },
    opened: (application) => {
      const core = coreByBundle.get(application.endpoint.bundle);
      core?.onOpened(application);
      return { close: () => core?.onClosed() };
    },
  };
}
