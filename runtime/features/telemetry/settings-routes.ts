/** Routes of Triton's logging and trace extensions. */

import type { Asked, Route } from "../../server/http/route.ts";
import { changeLog, logSettings, type OperatedLog } from "./log-settings.ts";
import { changeTraces, type OperatedTraces, traceSettings } from "./trace-settings.ts";

/** State that operators may change. */
export type Operated = OperatedLog & OperatedTraces;

export function settingsRoutes(operated: Operated): readonly Route[] {
  const route = (path: string, read: () => object, change: Change): Route => ({
    paths: [path],
    methods: "GET or POST",
    need: "admin",
    answer: async (asked) => {
      const document = asked.isPosted ? change(asked, await asked.json()) : read();
      return { status: 200, document };
    },
  });
  const traces = (path: string) =>
    route(
      path,
      () => traceSettings(operated),
      ({ state, hosted }, asked) => changeTraces(operated, asked, state.onNotice, hosted),
    );
  return [
    route(
      "/v2/logging",
      () => logSettings(operated),
      ({ state }, asked) => changeLog(operated, asked, state.onNotice),
    ),
    traces("/v2/trace/setting"),
    traces("/v2/models/:model/trace/setting"),
  ];
}

type Change = (at: Asked, asked: Readonly<Record<string, unknown>>) => object;
