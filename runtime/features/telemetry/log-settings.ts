/** Settings of the server's log in the form of Triton's logging extension. */

import { type Notice, SEVERITIES } from "../../base/notice.ts";
import { HttpError } from "../../server/connections/http-error.ts";
import { LOG_FORMATS, type LogFormat, type LogState } from "../../server/logs/log.ts";
import { BadRequest } from "../../server/tensors/bad-request.ts";

export interface OperatedLog {
  /** Undefined if the server writes no log. */
  readonly log: LogState | undefined;
}

type Setting = boolean | number | string;
type LogSettings = Readonly<Record<string, Setting>>;

/** Settings that switch a severity on, from the most to the least severe. */
const SWITCHES = ["log_error", "log_warning", "log_info", "log_verbose_level"] as const;

/** Allowed values: the log goes to stderr, and errors are always logged. */
const ALLOWED: Readonly<Record<string, readonly Setting[]>> = {
  log_file: [""],
  log_error: [true],
  log_warning: [true, false],
  log_info: [true, false],
  log_verbose_level: [0, 1],
  log_format: LOG_FORMATS,
};

/** @throws HttpError 501 if the server has no log of its own. */
export function logSettings({ log }: OperatedLog): LogSettings {
  const { level, format } = expectLog(log);
  const least = SEVERITIES.indexOf(level);
  const switches = SWITCHES.map((name, severity) => {
    const isOn = severity <= least;
    return [name, name === "log_verbose_level" ? Number(isOn) : isOn] as const;
  });
  return { log_file: "", ...Object.fromEntries(switches), log_format: format };
}

/**
 * Applies the requested changes, all or none.
 * @returns the settings in force afterwards.
 * @throws BadRequest for a value that the log does not support, and for a severity without the more
 * severe ones.
 */
export function changeLog(
  operated: OperatedLog,
  asked: Readonly<Record<string, unknown>>,
  onNotice: Notice,
): LogSettings {
  const log = expectLog(operated.log);
  for (const [name, value] of Object.entries(asked)) {
    const allowed = Object.hasOwn(ALLOWED, name) ? ALLOWED[name] : undefined;
    if (allowed === undefined) {
      throw new BadRequest(name, `expected one of ${Object.keys(ALLOWED).join(", ")}`, value);
    }
    if (allowed.some((one) => one === value)) continue;
    const words = allowed.map((one) => JSON.stringify(one)).join(" or ");
    throw new BadRequest(name, `expected ${words}`, value);
  }
  const wanted = { ...logSettings(operated), ...asked } as LogSettings;
  const [level, format] = [levelOf(wanted), wanted["log_format"] as LogFormat];
  if (level !== log.level || format !== log.format) {
    const messages = level === "error" ? "errors" : `${level} and more severe messages`;
    const changed = `it writes ${messages}, as ${format}`;
    const notify = () => onNotice(`the log settings were changed: ${changed}`);
    // Notifies first if the new threshold would suppress the notice.
    const isQuieter = SEVERITIES.indexOf(level) < SEVERITIES.indexOf(log.level);
    if (isQuieter) notify();
    log.level = level;
    log.format = format;
    if (!isQuieter) notify();
  }
  return logSettings(operated);
}

/** @throws BadRequest if a severity is off while a less severe one is on. */
function levelOf(wanted: LogSettings) {
  const isOn = SWITCHES.map((name) => Boolean(wanted[name]));
  const last = isOn.lastIndexOf(true);
  const off = SWITCHES[isOn.indexOf(false)];
  if (off !== undefined && isOn.indexOf(false) < last) {
    const why = "because the log has one threshold";
    throw new BadRequest(off, `expected true together with ${SWITCHES[last]}, ${why}`, wanted[off]);
  }
  return SEVERITIES[last] ?? "error";
}

function expectLog(log: LogState | undefined): LogState {
  if (log !== undefined) return log;
  const message = "this server writes no log of its own: the program that embeds it writes the log";
  throw new HttpError(501, message);
}
