/** Where bundles come from that are not files of this machine. */
import { duration, text } from "./kinds.ts";
import { setting } from "./setting.ts";

export const SOURCES = {
  poll: setting(
    duration({ least: 1000, most: 24 * 3_600_000 }),
    60_000,
    "how often sources are asked for another bundle, a tenth more or less",
  ),
  policyStore: setting(
    text("<folder>", "a folder"),
    null,
    "where bundles and models of sources are kept, for a start while they are away",
    "`$STATE_DIRECTORY`, `$XDG_STATE_HOME/stratagem` or `~/.local/state/stratagem`",
  ),
  policyToken: setting(
    text("<file>", "a file with a token, or with USER:PASSWORD"),
    null,
    "what https sources and --status-url are shown",
    "nothing",
  ),
  statusUrl: setting(
    text("<url>", "an http(s) URL"),
    null,
    "where it is POSTed, whenever that changes, which bundles are followed and which refused",
    "nowhere",
  ),
};
