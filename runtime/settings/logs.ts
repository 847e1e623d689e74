/** The log on stderr, which operators read. */

import { SEVERITIES } from "../base/notice.ts";
import { oneOf } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";
import { LOG_FORMATS } from "../server/logs/log.ts";

export const LOGS = {
  logLevel: setting(oneOf(SEVERITIES), "info", "what the log on stderr tells at least"),
  logFormat: setting(oneOf(LOG_FORMATS), "text", "how the log on stderr is written"),
};
