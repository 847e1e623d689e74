/** The log on stderr, which operators read. */
import { SEVERITIES } from "../base/notice.ts";
import type { Kind } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";
import { LOG_FORMATS, type LogState } from "../server/logs/log.ts";

export const LOG_HELP =
  `least severity (${SEVERITIES.join(", ")}) and format (${LOG_FORMATS.join(", ")}) of the ` +
  `log on ` +
  "stderr, or one of them";
export const DEFAULT_LOG: LogState = { level: "info", format: "text" };

/** `debug`, `json` or `debug,json`; what is left out is as in `DEFAULT_LOG`. */
export const logState: Kind<LogState> = {
  sign: "<level,format>",
  expected: `${SEVERITIES.join(", ")}, ${LOG_FORMATS.join(", ")}, or a level and a format`,
  read: (value) => {
    const words = String(value).split(",");
    const level = SEVERITIES.find((one) => words.includes(one));
    const format = LOG_FORMATS.find((one) => words.includes(one));
    const found = [level, format].filter((one) => one !== undefined);
    if (found.length !== words.length) return undefined;
    return { level: level ?? DEFAULT_LOG.level, format: format ?? DEFAULT_LOG.format };
  },
  write: ({ level, format }) => `${level},${format}`,
};

export const LOGS = { log: setting(logState, DEFAULT_LOG, LOG_HELP) };
