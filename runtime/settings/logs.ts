/** Settings of the log on stderr. */

import { SEVERITIES } from "../base/notice.ts";
import { oneOf } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";
import { LOG_FORMATS } from "../server/logs/log.ts";

export const LOGS = {
  logLevel: setting(oneOf(SEVERITIES), "info", "lowest severity in the log on stderr"),
  logFormat: setting(oneOf(LOG_FORMATS), "text", "format of the log on stderr"),
};
