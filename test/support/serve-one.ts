/** A server of one application, by the options of both, with the features that it is asked for. */
import { FEATURES } from "../../runtime/features/features.ts";
import { closeFeatures, openFeatures } from "../../runtime/features/server-feature.ts";
import type {
  Application,
  ApplicationOptions,
} from "../../runtime/server/applications/application.ts";
import type { LogState } from "../../runtime/server/logs/log.ts";
import { type OpenOptions, openServer, type RunningServer } from "../../runtime/server/serve.ts";
import type { SettingValues } from "../../runtime/settings/table.ts";

export interface FeatureOptions {
  /** Values of settings of features; those left out have their defaults. */
  readonly settings?: Partial<SettingValues>;
  /** What administrators may change of the log. */
  readonly log?: LogState;
}

export async function serveOne<O extends ApplicationOptions>(
  host: (options: O) => Application | Promise<Application>,
  options: O & OpenOptions & FeatureOptions,
): Promise<RunningServer> {
  return serveSeveral([await host(options)], options);
}

/** With all features that the settings ask for. */
export async function serveSeveral(
  applications: readonly Application[],
  options: OpenOptions & FeatureOptions,
): Promise<RunningServer> {
  const { nowMs, epochOffsetMs = () => 0, onNotice = () => {}, settings = {}, log } = options;
  const { version } = options;
  const context = { nowMs, epochOffsetMs, onNotice, version, log, environment: {} };
  const features = await openFeatures(FEATURES, settings, context);
  // Those of the test come before those of the same routes.
  const all = [...(options.features ?? []), ...features];
  const server = await openServer(applications, { ...options, features: all });
  return {
    ...server,
    close: async () => {
      await server.close();
      await closeFeatures(features);
    },
  };
}
