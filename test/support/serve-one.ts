/** A server of one application, by the options of both. */
import type {
  Application,
  ApplicationOptions,
} from "../../runtime/server/applications/application.ts";
import { type OpenOptions, openServer, type RunningServer } from "../../runtime/server/serve.ts";

export async function serveOne<O extends ApplicationOptions>(
  host: (options: O) => Application | Promise<Application>,
  options: O & OpenOptions,
): Promise<RunningServer> {
  return openServer([await host(options)], options);
}
