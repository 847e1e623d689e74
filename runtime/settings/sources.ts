/** Sources of bundles on other machines. */
import { text } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

export const SOURCES = {
  store: setting(
    text("<folder>", "a folder"),
    null,
    "folder for bundles and models of sources, used if a source is unreachable at the start",
    "`$STATE_DIRECTORY`, `$XDG_STATE_HOME/stratagem` or `~/.local/state/stratagem`",
  ),
  statusUrl: setting(
    text("<url>", "an http(s) URL"),
    null,
    "URL to POST changes of the accepted and refused bundles to",
    "no reports",
  ),
};
