/** The settings of the server's log as Triton's logging extension has them. */

import { type Notice, SEVERITIES } from "../../base/notice.ts";
import { HttpError } from "../../server/connections/http-error.ts";
import { LOG_FORMATS, type LogFormat, type LogState } from "../../server/logs/log.ts";
import { BadRequest } from "../../server/tensors/bad-request.ts";

export interface OperatedLog {
  /** Undefined where the server writes none. */
  readonly log: LogState | undefined;
}

type Setting = boolean | number | string;
type LogSettings = Readonly<Record<string, Setting>>;

/** Those that say what is told, in the order of the severities. */
const SWITCHES = ["log_error", "log_warning", "log_info", "log_verbose_level"] as const;

/** The log goes to stderr, and errors are told whatever else is. */
const ALLOWED: Readonly<Record<string, readonly Setting[]>> = {
  log_file: [""],
  log_error: [true],
  log_warning: [true, false],
  log_info: [true, false],
  log_verbose_level: [0, 1],
  log_format: LOG_FORMATS,
};

/** @throws HttpError 501 where the server has no log of its own. */
export function logSettings({ log }: OperatedLog): LogSettings {
  const { level, format } = expectLog(log);
  const least = SEVERITIES.indexOf(level);
  const told = SWITCHES.map((name, severity) => {
    const isOn = severity <= least;
    return [name, name === "log_verbose_level" ? Number(isOn) : isOn] as const;
  });
  return { log_file: "", ...Object.fromEntries(told), log_format: format };
}

/**
 * Changes what is asked for, or nothing.
 * @returns what is in force then.
 * @throws BadRequest for what the log cannot do, among it to tell something and not what is worse.
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
    const told = `it tells ${level}${level === "error" ? "s" : " and worse"}, as ${format}`;
    const tell = () => onNotice(`the log's settings are changed: ${told}`);
    // Whoever reads it learns why it falls silent.
    const isQuieter = SEVERITIES.indexOf(level) < SEVERITIES.indexOf(log.level);
    if (isQuieter) tell();
    log.level = level;
    log.format = format;
    if (!isQuieter) tell();
  }
  return logSettings(operated);
}

/** @throws BadRequest for one that is off before one that is on. */
function levelOf(wanted: LogSettings) {
  const isOn = SWITCHES.map((name) => Boolean(wanted[name]));
  const last = isOn.lastIndexOf(true);
  const off = SWITCHES[isOn.indexOf(false)];
  if (off !== undefined && isOn.indexOf(false) < last) {
    const why = "for the log has one threshold";
    throw new BadRequest(off, `expected true beside ${SWITCHES[last]}, ${why}`, wanted[off]);
  }
  return SEVERITIES[last] ?? "error";
}

function expectLog(log: LogState | undefined): LogState {
  if (log !== undefined) return log;
  const message = "this server writes no log of its own: the program that started it does";
  throw new HttpError(501, message);
}
