/** What is told to the outside: the log, the access log, promises, traces and metrics. */

import { SEVERITIES } from "../base/notice.ts";
import { isMask, MASK_CHOICES } from "../server/decisions/masked-fields.ts";
import { LOG_FORMATS } from "../server/telemetry/log.ts";
import { type Kind, oneOf, share, text, texts, truth } from "./kinds.ts";
import { setting } from "./setting.ts";

const fields = texts("<field>", `one of ${MASK_CHOICES.join(", ")}`);
const mask: Kind<readonly string[]> = {
  ...fields,
  read: (value) => {
    const found = fields.read(value);
    return found?.every(isMask) === true ? found : undefined;
  },
};

export const TELEMETRY = {
  logLevel: setting(oneOf(SEVERITIES), "info", "what the log on stderr tells at least"),
  logFormat: setting(oneOf(LOG_FORMATS), "text", "how the log on stderr is written"),
  accessLog: setting(
    text("<file>", "a file, or - for stderr"),
    null,
    "where a line of JSON goes for every request; - for stderr",
    "none",
  ),
  decisionLog: setting(
    text("<place>", "a file, an http or https URL, or - for stdout"),
    null,
    "where decisions go, with their states and outcomes; - for stdout",
    "none",
  ),
  decisionSample: setting(
    share,
    1,
    "share of the requests that the decision log has; 100% has all that replaying them needs",
  ),
  decisionMask: setting(
    mask,
    null,
    "field that the decision log leaves out, or has by its digest; may be repeated",
    "none",
  ),
  readyNeedsPromises: setting(
    truth,
    false,
    "not be ready at /v2/health/ready while a promise is broken",
  ),
  otlpEndpoint: setting(
    text("<url>", "a URL such as http://127.0.0.1:4318"),
    null,
    "where traces and metrics go by OTLP/HTTP",
    "`OTEL_EXPORTER_OTLP_ENDPOINT`, or nowhere",
  ),
};
